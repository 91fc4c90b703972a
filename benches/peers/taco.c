/* Runs C code that the command taco generated, on tensors given as `peer.h` says.
 *
 * KERNEL_FILE   the generated file
 * CALL          calls of its functions with the tensors `t[0], t[1], ...`: `taco_compute` into a dense result, which is
 *               allocated once; those that assemble where the result is assembled by each run
 * ASSEMBLES     1 where the result is assembled
 *
 * Outermost loops of its code run on threads: in equal shares, as is the library's default, and chunk by chunk where a
 * schedule (the variant `:scheduled`) has cut them into chunks.
 */
#include KERNEL_FILE
#include <omp.h>

#include "peer.h"

static taco_tensor_t tensor_of[MAX_TENSORS];
static taco_tensor_t *t[MAX_TENSORS];
static peer_tensor *given;

static void fill(taco_tensor_t *to, peer_tensor *from) {
    to->order = from->order;
    to->dimensions = from->dims;
    to->csize = sizeof(double);
    to->mode_ordering = from->mode_order;
    to->mode_types = (taco_mode_t *)calloc(MAX_ORDER, sizeof(taco_mode_t));
    to->indices = (uint8_t ***)calloc(MAX_ORDER, sizeof(uint8_t **));
    for (int l = 0; l < from->order; l++) {
        to->mode_types[l] = from->levels[l].kind == LEVEL_COMPRESSED ? taco_mode_sparse : taco_mode_dense;
        to->indices[l] = (uint8_t **)calloc(2, sizeof(uint8_t *));
        to->indices[l][0] = (uint8_t *)from->levels[l].pos;
        to->indices[l][1] = (uint8_t *)from->levels[l].crd;
    }
    to->vals = (uint8_t *)from->vals;
    to->vals_size = (int32_t)from->values;
}

static void prepare(peer_tensor *tensors, int count, const char *kernel) {
    given = tensors;
    omp_set_schedule(is_variant(kernel, "scheduled") ? omp_sched_dynamic : omp_sched_static, 0);
    for (int k = 0; k < count; k++) {
        t[k] = &tensor_of[k];
        fill(t[k], &tensors[k]);
    }
}

static void compute(void) { CALL }

static void report(void) {
    peer_tensor result = *given;
    for (int l = 0; l < result.order; l++) {
        result.levels[l].pos = (int32_t *)t[0]->indices[l][0];
        result.levels[l].crd = (int32_t *)t[0]->indices[l][1];
    }
    result.vals = (double *)t[0]->vals;
    report_tensor(&result);
}

static void release(void) {
    if (!ASSEMBLES) return;
    for (int l = 0; l < t[0]->order; l++) {
        if (t[0]->mode_types[l] == taco_mode_dense) continue;
        free(t[0]->indices[l][0]);
        free(t[0]->indices[l][1]);
    }
    free(t[0]->vals);
}

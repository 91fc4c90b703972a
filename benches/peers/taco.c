/* Runs C code that the command taco generated, on tensors given as `peer.h` says.
 *
 * KERNEL_FILE   the generated file
 * CALL          calls of its functions with the tensors `t[0], t[1], ...`: `taco_compute` into a dense result, which is
 *               allocated once; those that assemble where the result is assembled by each run
 * ASSEMBLES     1 where the result is assembled
 */
#include KERNEL_FILE
#include "peer.h"

static taco_tensor_t tensor_of[MAX_TENSORS];
static taco_tensor_t *t[MAX_TENSORS];

static void fill(taco_tensor_t *to, peer_tensor *from) {
    to->order = from->order;
    to->dimensions = from->dims;
    to->csize = sizeof(double);
    to->mode_ordering = from->mode_order;
    to->mode_types = (taco_mode_t *)calloc(MAX_ORDER, sizeof(taco_mode_t));
    to->indices = (uint8_t ***)calloc(MAX_ORDER, sizeof(uint8_t **));
    for (int l = 0; l < from->order; l++) {
        to->mode_types[l] = from->levels[l].compressed ? taco_mode_sparse : taco_mode_dense;
        to->indices[l] = (uint8_t **)calloc(2, sizeof(uint8_t *));
        to->indices[l][0] = (uint8_t *)from->levels[l].pos;
        to->indices[l][1] = (uint8_t *)from->levels[l].crd;
    }
    to->vals = (uint8_t *)from->vals;
    to->vals_size = (int32_t)from->values;
}

static void prepare(peer_tensor *tensors, int count, const char *kernel) {
    (void)kernel;
    for (int k = 0; k < count; k++) {
        t[k] = &tensor_of[k];
        fill(t[k], &tensors[k]);
    }
}

static void compute(void) { CALL }

static const double *result(int64_t *count) {
    int64_t positions = 1;
    for (int l = 0; l < t[0]->order; l++) {
        if (t[0]->mode_types[l] == taco_mode_dense) positions *= t[0]->dimensions[t[0]->mode_ordering[l]];
        else positions = ((int32_t *)t[0]->indices[l][0])[positions];
    }
    *count = positions;
    return (const double *)t[0]->vals;
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

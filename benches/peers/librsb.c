/* Kernels of librsb, on tensors given as `peer.h` says; indices of 32 bits. Matrices are converted to the library's format
 * of recursive blocks, which is what is called inspection here.
 *
 *   spmv, spmm   y = A x and C = A B, B and C dense by rows; :tuned after the library's autotuning
 *   spgemm, add  C = A A, C = A + B
 */
#include <rsb.h>

#include "peer.h"

static peer_tensor *t;
static const char *kernel;
static struct rsb_mtx_t *inputs[MAX_TENSORS], *made;
static const double one = 1, zero = 0;

static void must(rsb_err_t status) {
    if (status == RSB_ERR_NO_ERROR) return;
    rsb_perror(stderr, status);
    fail("a function of librsb failed");
}

static struct rsb_mtx_t *blocks(const peer_tensor *from) {
    rsb_err_t status = RSB_ERR_NO_ERROR;
    const peer_level *level = &from->levels[1];
    struct rsb_mtx_t *to =
        rsb_mtx_alloc_from_csr_const(from->vals, level->pos, level->crd, (rsb_nnz_idx_t)from->values,
                                     RSB_NUMERICAL_TYPE_DOUBLE, from->dims[0], from->dims[1], 1, 1, RSB_FLAG_NOFLAGS, &status);
    must(status);
    return to;
}

static rsb_coo_idx_t width(void) { return t[2].order == 2 ? t[2].dims[1] : 1; }

/* The layout of the columns of B in memory: either is right for one column. */
static rsb_flags_t layout(void) {
    return t[2].order == 2 ? RSB_FLAG_WANT_ROW_MAJOR_ORDER : RSB_FLAG_WANT_COLUMN_MAJOR_ORDER;
}

static void prepare(peer_tensor *tensors, int count, const char *wanted) {
    t = tensors;
    kernel = wanted;
    must(rsb_lib_init(RSB_NULL_INIT_OPTIONS));
    double start = now_ms();
    for (int k = 1; k < count; k++)
        if (t[k].order == 2 && t[k].levels[1].kind == LEVEL_COMPRESSED) inputs[k] = blocks(&t[k]);
    if (is_variant(kernel, "tuned")) {
        rsb_coo_idx_t stride_b = layout() == RSB_FLAG_WANT_ROW_MAJOR_ORDER ? width() : t[2].dims[0];
        rsb_coo_idx_t stride_c = layout() == RSB_FLAG_WANT_ROW_MAJOR_ORDER ? width() : t[0].dims[0];
        must(rsb_tune_spmm(&inputs[1], NULL, NULL, 0, 0, RSB_TRANSPOSITION_N, &one, NULL, width(), layout(), t[2].vals,
                           stride_b, &zero, t[0].vals, stride_c));
    }
    inspection_ms = now_ms() - start;
}

static void compute(void) {
    rsb_err_t status = RSB_ERR_NO_ERROR;
    if (is_kernel(kernel, "spmv")) {
        status = rsb_spmv(RSB_TRANSPOSITION_N, &one, inputs[1], t[2].vals, 1, &zero, t[0].vals, 1);
    } else if (is_kernel(kernel, "spmm")) {
        status = rsb_spmm(RSB_TRANSPOSITION_N, &one, inputs[1], width(), layout(), t[2].vals, width(), &zero, t[0].vals,
                          width());
    } else if (is_kernel(kernel, "spgemm")) {
        made = rsb_spmsp(RSB_NUMERICAL_TYPE_DOUBLE, RSB_TRANSPOSITION_N, &one, inputs[1], RSB_TRANSPOSITION_N, &one,
                         inputs[1], &status);
    } else if (is_kernel(kernel, "add")) {
        made = rsb_sppsp(RSB_NUMERICAL_TYPE_DOUBLE, RSB_TRANSPOSITION_N, &one, inputs[1], RSB_TRANSPOSITION_N, &one,
                         inputs[2], &status);
    } else {
        fail("an unknown kernel");
    }
    must(status);
}

static void report(void) {
    if (!made) {
        report_tensor(&t[0]);
        return;
    }
    rsb_nnz_idx_t count;
    must(rsb_mtx_get_info(made, RSB_MIF_MATRIX_NNZ__TO__RSB_NNZ_INDEX_T, &count));
    rsb_coo_idx_t *i = (rsb_coo_idx_t *)allocate(sizeof *i * (size_t)count);
    rsb_coo_idx_t *j = (rsb_coo_idx_t *)allocate(sizeof *j * (size_t)count);
    double *vals = (double *)allocate(sizeof *vals * (size_t)count);
    must(rsb_mtx_get_coo(made, vals, i, j, RSB_FLAG_C_INDICES_INTERFACE));
    for (rsb_nnz_idx_t p = 0; p < count; p++) {
        int64_t coordinates[2] = {i[p], j[p]};
        stored(vals[p], coordinates, 2);
    }
    free(i);
    free(j);
    free(vals);
}

static void release(void) {
    if (made) rsb_mtx_free(made);
    made = NULL;
}

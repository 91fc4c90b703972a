/* Kernels of oneMKL's inspector-executor sparse BLAS, on tensors given as `peer.h` says; indices of 32 bits.
 *
 *   spmv       y = A x             :inspected  after mkl_sparse_optimize, told of many such products;
 *                                  :symmetric  the same, of the upper half of a symmetric matrix
 *   spmm       C = A B, dense B    :inspected  the same
 *   spgemm     C = A A             its rows not sorted; :sorted with mkl_sparse_order; :sp2m by the two-stage function
 *   add, add3  C = A + B, D = A + B + C (two additions)
 *   csr-csc    A by columns, by mkl_sparse_convert_csr of the transpose
 *   coo-csr    A by rows, of a list, by mkl_sparse_convert_csr
 *   csr-bcsr   A in blocks of the size that the result says, by mkl_sparse_convert_bsr
 */
#include <mkl.h>

#include "peer.h"

static peer_tensor *t;
static const char *kernel;
static sparse_matrix_t inputs[MAX_TENSORS], made;
static const struct matrix_descr general = {SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_LOWER, SPARSE_DIAG_NON_UNIT};
static const struct matrix_descr symmetric = {SPARSE_MATRIX_TYPE_SYMMETRIC, SPARSE_FILL_MODE_UPPER, SPARSE_DIAG_NON_UNIT};
/* The kind of the matrix in a product with a vector. */
static struct matrix_descr of_vector;
static const sparse_operation_t plain = SPARSE_OPERATION_NON_TRANSPOSE;
/* The number of products that the inspection is told of. */
static const MKL_INT many = 1000;

static void must(sparse_status_t status) {
    if (status == SPARSE_STATUS_SUCCESS) return;
    fprintf(stderr, "status %d of oneMKL; ", (int)status);
    fail("a function of oneMKL failed");
}

static void inspect(void) {
    double start = now_ms();
    if (is_kernel(kernel, "spmv")) must(mkl_sparse_set_mv_hint(inputs[1], plain, of_vector, many));
    else must(mkl_sparse_set_mm_hint(inputs[1], plain, general, SPARSE_LAYOUT_ROW_MAJOR, t[2].dims[1], many));
    must(mkl_sparse_set_memory_hint(inputs[1], SPARSE_MEMORY_AGGRESSIVE));
    must(mkl_sparse_optimize(inputs[1]));
    inspection_ms = now_ms() - start;
}

/* Leaves the entries of a matrix on its diagonal and above. */
static void keep_upper(peer_tensor *matrix) {
    int32_t *pos = matrix->levels[1].pos, *crd = matrix->levels[1].crd, kept = 0, begin = 0;
    for (int32_t i = 0; i < matrix->dims[0]; i++) {
        int32_t end = pos[i + 1];
        for (int32_t p = begin; p < end; p++) {
            if (crd[p] < i) continue;
            crd[kept] = crd[p];
            matrix->vals[kept++] = matrix->vals[p];
        }
        begin = end;
        pos[i + 1] = kept;
    }
}

static void prepare(peer_tensor *tensors, int count, const char *wanted) {
    t = tensors;
    kernel = wanted;
    of_vector = is_variant(kernel, "symmetric") ? symmetric : general;
    if (is_variant(kernel, "symmetric")) keep_upper(&t[1]);
    for (int k = 1; k < count; k++) {
        if (t[k].order != 2 || t[k].levels[1].kind == LEVEL_DENSE) continue;
        int32_t *pos = t[k].levels[1].pos, *crd = t[k].levels[1].crd;
        if (t[k].levels[1].kind == LEVEL_SINGLETON)
            must(mkl_sparse_d_create_coo(&inputs[k], SPARSE_INDEX_BASE_ZERO, t[k].dims[0], t[k].dims[1], t[k].values,
                                         t[k].levels[0].crd, crd, t[k].vals));
        else
            must(mkl_sparse_d_create_csr(&inputs[k], SPARSE_INDEX_BASE_ZERO, t[k].dims[0], t[k].dims[1], pos, pos + 1,
                                         crd, t[k].vals));
    }
    if (is_variant(kernel, "inspected") || is_variant(kernel, "symmetric")) inspect();
}

static void square(void) {
    if (is_variant(kernel, "sp2m"))
        must(mkl_sparse_sp2m(plain, general, inputs[1], plain, general, inputs[1], SPARSE_STAGE_FULL_MULT, &made));
    else must(mkl_sparse_spmm(plain, inputs[1], inputs[1], &made));
    if (is_variant(kernel, "sorted")) must(mkl_sparse_order(made));
}

static void add_three(void) {
    sparse_matrix_t sum = NULL;
    must(mkl_sparse_d_add(plain, inputs[1], 1.0, inputs[2], &sum));
    must(mkl_sparse_d_add(plain, sum, 1.0, inputs[3], &made));
    must(mkl_sparse_destroy(sum));
}

static void compute(void) {
    if (is_kernel(kernel, "spmv")) {
        must(mkl_sparse_d_mv(plain, 1.0, inputs[1], of_vector, t[2].vals, 0.0, t[0].vals));
    } else if (is_kernel(kernel, "spmm")) {
        MKL_INT columns = t[2].dims[1];
        must(mkl_sparse_d_mm(plain, 1.0, inputs[1], general, SPARSE_LAYOUT_ROW_MAJOR, t[2].vals, columns, columns, 0.0,
                             t[0].vals, columns));
    } else if (is_kernel(kernel, "spgemm")) {
        square();
    } else if (is_kernel(kernel, "add")) {
        must(mkl_sparse_d_add(plain, inputs[1], 1.0, inputs[2], &made));
    } else if (is_kernel(kernel, "add3")) {
        add_three();
    } else if (is_kernel(kernel, "coo-csr")) {
        must(mkl_sparse_convert_csr(inputs[1], plain, &made));
    } else if (is_kernel(kernel, "csr-bcsr")) {
        must(mkl_sparse_convert_bsr(inputs[1], t[0].levels[0].block, SPARSE_LAYOUT_ROW_MAJOR, plain, &made));
    } else if (is_kernel(kernel, "csr-csc")) {
        must(mkl_sparse_convert_csr(inputs[1], SPARSE_OPERATION_TRANSPOSE, &made));
    } else {
        fail("an unknown kernel");
    }
}

static void report(void) {
    if (!made) {
        report_tensor(&t[0]);
        return;
    }
    sparse_index_base_t base;
    MKL_INT rows, columns, size, *begin, *end, *crd;
    double *vals;
    if (is_kernel(kernel, "csr-bcsr")) {
        sparse_layout_t layout;
        must(mkl_sparse_d_export_bsr(made, &base, &layout, &rows, &columns, &size, &begin, &end, &crd, &vals));
        report_blocks(rows, size, begin, end, crd, vals);
        return;
    }
    must(mkl_sparse_d_export_csr(made, &base, &rows, &columns, &begin, &end, &crd, &vals));
    report_rows(rows, begin, end, crd, vals, is_kernel(kernel, "csr-csc"));
}

static void release(void) {
    if (made) must(mkl_sparse_destroy(made));
    made = NULL;
}

/* Kernels of SuiteSparse:GraphBLAS, on tensors given as `peer.h` says. Every result is complete (GrB_MATERIALIZE), so its
 * rows are sorted.
 *
 *   spmv       y = A x               :accumulate  y = 0, then y += A x, for which the library has code of its own
 *   spmm       C = A B, B and C full :accumulate  the same
 *   spgemm     C = A A
 *   add, add3  C = A + B, D = A + B + C (two additions)
 *   csr-csc    A by columns: its transpose by rows
 *   sddmm      C = A .* (D E'), the product masked by A
 *   triangles  the sum of C<L> = L L   :dot  of C<L> = L L', which the library does by inner products
 *
 *   masked     C<M> = A A, M the third operand   masked-out   the same where M has nothing
 *   bfs, sssp, pagerank, components, triangle-count, ktruss, betweenness: see graphblas_graphs.h
 */
#include "graphblas.h"
#include "graphblas_graphs.h"

static const char *kernel;
static void (*search)(void);
static int accumulates;
static GrB_Index rows, columns;
static GrB_Matrix inputs[MAX_TENSORS], made;
static GrB_Vector x, y;
static double total;

static GrB_Vector full_vector(const peer_tensor *from) {
    GrB_Index size = (GrB_Index)from->dims[0];
    GrB_Vector to;
    must(GrB_Vector_new(&to, GrB_FP64, size));
    must(GrB_Vector_assign_FP64(to, NULL, NULL, 0.0, GrB_ALL, size, NULL));
    for (GrB_Index i = 0; i < size; i++) must(GrB_Vector_setElement_FP64(to, from->vals[i], i));
    must(GrB_Vector_wait(to, GrB_MATERIALIZE));
    return to;
}

static void prepare(peer_tensor *t, int count, const char *wanted) {
    kernel = wanted;
    accumulates = is_variant(kernel, "accumulate");
    must(GrB_init(GrB_NONBLOCKING));
    for (int k = 1; k < count; k++) {
        if (t[k].order == 1) {
            if (t[k].levels[0].kind == LEVEL_COMPRESSED) start = (GrB_Index)t[k].levels[0].crd[0];
            else x = full_vector(&t[k]);
            continue;
        }
        inputs[k] = t[k].levels[1].kind == LEVEL_COMPRESSED ? sparse(&t[k]) : full(&t[k]);
        must(GrB_Matrix_wait(inputs[k], GrB_MATERIALIZE));
    }
    search = graph_search(kernel);
    if (search) {
        prepare_graph(t, count, inputs, kernel);
        return;
    }
    int transposes = is_kernel(kernel, "csr-csc");
    rows = (GrB_Index)(t[0].order == 0 ? t[1].dims[0] : t[0].dims[transposes]);
    columns = (GrB_Index)(t[0].order == 2 ? t[0].dims[1 - transposes] : t[1].dims[1]);
    if (is_kernel(kernel, "spmv")) must(GrB_Vector_new(&y, GrB_FP64, rows));
}

static void multiply_vector(void) {
    if (accumulates) must(GrB_Vector_assign_FP64(y, NULL, NULL, 0.0, GrB_ALL, rows, NULL));
    must(GrB_mxv(y, NULL, accumulates ? GrB_PLUS_FP64 : NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inputs[1], x, NULL));
    must(GrB_Vector_wait(y, GrB_MATERIALIZE));
}

static void multiply_full(void) {
    if (accumulates) must(GrB_Matrix_assign_FP64(made, NULL, NULL, 0.0, GrB_ALL, rows, GrB_ALL, columns, NULL));
    must(GrB_mxm(made, NULL, accumulates ? GrB_PLUS_FP64 : NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inputs[1], inputs[2], NULL));
}

static void sample(void) {
    GrB_Matrix product;
    must(GrB_Matrix_new(&product, GrB_FP64, rows, columns));
    must(GrB_mxm(product, inputs[1], NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inputs[2], inputs[3], GrB_DESC_ST1));
    must(GrB_Matrix_eWiseMult_BinaryOp(made, NULL, NULL, GrB_TIMES_FP64, inputs[1], product, NULL));
    must(GrB_Matrix_free(&product));
}

static void count_triangles(void) {
    GrB_Descriptor how = is_variant(kernel, "dot") ? GrB_DESC_ST1 : GrB_DESC_S;
    must(GrB_mxm(made, inputs[1], NULL, GxB_PLUS_PAIR_FP64, inputs[1], inputs[1], how));
    must(GrB_Matrix_reduce_FP64(&total, NULL, GrB_PLUS_MONOID_FP64, made, NULL));
}

static void add(int last) {
    must(GrB_Matrix_eWiseAdd_BinaryOp(made, NULL, NULL, GrB_PLUS_FP64, inputs[1], inputs[2], NULL));
    if (last == 3) must(GrB_Matrix_eWiseAdd_BinaryOp(made, NULL, NULL, GrB_PLUS_FP64, made, inputs[3], NULL));
}

static void multiply_masked(int complemented) {
    must(GrB_mxm(made, inputs[1], NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inputs[2], inputs[2], complemented ? GrB_DESC_RSC : GrB_DESC_RS));
}

static void compute(void) {
    if (search) {
        search();
        return;
    }
    if (is_kernel(kernel, "spmv")) {
        multiply_vector();
        return;
    }
    if (!made) must(GrB_Matrix_new(&made, GrB_FP64, rows, columns));
    if (is_kernel(kernel, "spmm")) multiply_full();
    else if (is_kernel(kernel, "spgemm"))
        must(GrB_mxm(made, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inputs[1], inputs[1], NULL));
    else if (is_kernel(kernel, "add")) add(2);
    else if (is_kernel(kernel, "add3")) add(3);
    else if (is_kernel(kernel, "csr-csc")) must(GrB_transpose(made, NULL, NULL, inputs[1], NULL));
    else if (is_kernel(kernel, "sddmm")) sample();
    else if (is_kernel(kernel, "triangles")) count_triangles();
    else if (is_kernel(kernel, "masked")) multiply_masked(0);
    else if (is_kernel(kernel, "masked-out")) multiply_masked(1);
    else fail("an unknown kernel");
    must(GrB_Matrix_wait(made, GrB_MATERIALIZE));
}

static void report_matrix(void) {
    int transposed = is_kernel(kernel, "csr-csc");
    GrB_Index count;
    must(GrB_Matrix_nvals(&count, made));
    GrB_Index *i = (GrB_Index *)allocate(8 * count), *j = (GrB_Index *)allocate(8 * count);
    double *vals = (double *)allocate(8 * count);
    must(GrB_Matrix_extractTuples_FP64(i, j, vals, &count, made));
    for (GrB_Index p = 0; p < count; p++) {
        int64_t coordinates[2] = {(int64_t)(transposed ? j : i)[p], (int64_t)(transposed ? i : j)[p]};
        stored(vals[p], coordinates, 2);
    }
    free(i);
    free(j);
    free(vals);
}

static void report_vector(GrB_Vector y) {
    GrB_Index count;
    must(GrB_Vector_nvals(&count, y));
    GrB_Index *i = (GrB_Index *)allocate(8 * count);
    double *vals = (double *)allocate(8 * count);
    must(GrB_Vector_extractTuples_FP64(i, vals, &count, y));
    for (GrB_Index p = 0; p < count; p++) stored(vals[p], (const int64_t *)&i[p], 1);
    free(i);
    free(vals);
}

static void report(void) {
    if (search && found) report_vector(found);
    else if (search) stored(found_number, NULL, 0);
    else if (is_kernel(kernel, "triangles")) stored(total, NULL, 0);
    else if (y) report_vector(y);
    else report_matrix();
}

/* A full result is kept: its memory is used again, as by other engines. */
static void release(void) {
    if (found) must(GrB_Vector_free(&found));
    if (made && !is_kernel(kernel, "spmm")) must(GrB_Matrix_free(&made));
}

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
 * What is used of the C API (version 2) is declared here, because the Python package carries the library without its header.
 */
#include "peer.h"

typedef uint64_t GrB_Index;
typedef struct GrB_Matrix_opaque *GrB_Matrix;
typedef struct GrB_Vector_opaque *GrB_Vector;
typedef struct GrB_Descriptor_opaque *GrB_Descriptor;
typedef struct GrB_Type_opaque *GrB_Type;
typedef struct GrB_BinaryOp_opaque *GrB_BinaryOp;
typedef struct GrB_Monoid_opaque *GrB_Monoid;
typedef struct GrB_Semiring_opaque *GrB_Semiring;

enum { GrB_SUCCESS = 0, GrB_NONBLOCKING = 0, GrB_MATERIALIZE = 1, GrB_CSR_FORMAT = 0 };

extern const GrB_Index *GrB_ALL;
extern GrB_Type GrB_FP64;
extern GrB_BinaryOp GrB_PLUS_FP64, GrB_TIMES_FP64;
extern GrB_Monoid GrB_PLUS_MONOID_FP64;
extern GrB_Semiring GrB_PLUS_TIMES_SEMIRING_FP64, GxB_PLUS_PAIR_FP64;
extern GrB_Descriptor GrB_DESC_S, GrB_DESC_ST1;

extern int GrB_init(int mode);
extern int GrB_Matrix_new(GrB_Matrix *, GrB_Type, GrB_Index rows, GrB_Index columns);
extern int GrB_Vector_new(GrB_Vector *, GrB_Type, GrB_Index size);
extern int GrB_Matrix_free(GrB_Matrix *);
extern int GrB_Matrix_import_FP64(GrB_Matrix *, GrB_Type, GrB_Index rows, GrB_Index columns, const GrB_Index *pos,
                                  const GrB_Index *crd, const double *vals, GrB_Index positions, GrB_Index coordinates,
                                  GrB_Index values, int format);
extern int GrB_Matrix_assign_FP64(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, double, const GrB_Index *, GrB_Index rows,
                                  const GrB_Index *, GrB_Index columns, GrB_Descriptor);
extern int GrB_Vector_assign_FP64(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, double, const GrB_Index *, GrB_Index size,
                                  GrB_Descriptor);
extern int GrB_Matrix_setElement_FP64(GrB_Matrix, double, GrB_Index, GrB_Index);
extern int GrB_Vector_setElement_FP64(GrB_Vector, double, GrB_Index);
extern int GrB_Matrix_wait(GrB_Matrix, int mode);
extern int GrB_Vector_wait(GrB_Vector, int mode);
extern int GrB_Matrix_nvals(GrB_Index *, GrB_Matrix);
extern int GrB_Vector_nvals(GrB_Index *, GrB_Vector);
extern int GrB_Matrix_extractTuples_FP64(GrB_Index *, GrB_Index *, double *, GrB_Index *, GrB_Matrix);
extern int GrB_Vector_extractTuples_FP64(GrB_Index *, double *, GrB_Index *, GrB_Vector);
extern int GrB_mxv(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Vector, GrB_Descriptor);
extern int GrB_mxm(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Matrix, GrB_Descriptor);
extern int GrB_Matrix_eWiseAdd_BinaryOp(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_BinaryOp, GrB_Matrix, GrB_Matrix,
                                        GrB_Descriptor);
extern int GrB_Matrix_eWiseMult_BinaryOp(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_BinaryOp, GrB_Matrix, GrB_Matrix,
                                         GrB_Descriptor);
extern int GrB_transpose(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_Matrix, GrB_Descriptor);
extern int GrB_Matrix_reduce_FP64(double *, GrB_BinaryOp, GrB_Monoid, GrB_Matrix, GrB_Descriptor);

static const char *kernel;
static int accumulates;
static GrB_Index rows, columns;
static GrB_Matrix inputs[MAX_TENSORS], made;
static GrB_Vector x, y;
static double total;

static void must(int status) {
    if (status == GrB_SUCCESS) return;
    fprintf(stderr, "status %d of GraphBLAS; ", status);
    fail("a function of GraphBLAS failed");
}

static GrB_Index *widened(const int32_t *from, int64_t count) {
    GrB_Index *to = (GrB_Index *)allocate(sizeof(GrB_Index) * (size_t)count);
    for (int64_t k = 0; k < count; k++) to[k] = (GrB_Index)from[k];
    return to;
}

static GrB_Matrix sparse(const peer_tensor *from) {
    const peer_level *level = &from->levels[1];
    GrB_Index *pos = widened(level->pos, level->positions), *crd = widened(level->crd, level->coordinates);
    GrB_Matrix to;
    must(GrB_Matrix_import_FP64(&to, GrB_FP64, (GrB_Index)from->dims[0], (GrB_Index)from->dims[1], pos, crd, from->vals,
                                (GrB_Index)level->positions, (GrB_Index)level->coordinates, (GrB_Index)from->values,
                                GrB_CSR_FORMAT));
    free(pos);
    free(crd);
    return to;
}

/* A matrix that stores every entry: the library keeps such a one as a plain array. */
static GrB_Matrix full(const peer_tensor *from) {
    GrB_Index height = (GrB_Index)from->dims[0], width = (GrB_Index)from->dims[1];
    GrB_Matrix to;
    must(GrB_Matrix_new(&to, GrB_FP64, height, width));
    must(GrB_Matrix_assign_FP64(to, NULL, NULL, 0.0, GrB_ALL, height, GrB_ALL, width, NULL));
    for (GrB_Index i = 0; i < height; i++)
        for (GrB_Index j = 0; j < width; j++) must(GrB_Matrix_setElement_FP64(to, from->vals[i * width + j], i, j));
    return to;
}

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
            x = full_vector(&t[k]);
            continue;
        }
        inputs[k] = t[k].levels[1].kind == LEVEL_COMPRESSED ? sparse(&t[k]) : full(&t[k]);
        must(GrB_Matrix_wait(inputs[k], GrB_MATERIALIZE));
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

static void compute(void) {
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

static void report_vector(void) {
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
    if (is_kernel(kernel, "triangles")) stored(total, NULL, 0);
    else if (y) report_vector();
    else report_matrix();
}

/* A full result is kept: its memory is used again, as by other engines. */
static void release(void) {
    if (made && !is_kernel(kernel, "spmm")) must(GrB_Matrix_free(&made));
}

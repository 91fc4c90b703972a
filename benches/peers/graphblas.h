/* The parts of GraphBLAS's C API (version 2, with SuiteSparse's extensions) that its peer program uses, and how operands become
 * matrices. They are declared here, because the Python package carries the library without its header.
 */
#ifndef LACUNAR_GRAPHBLAS_H
#define LACUNAR_GRAPHBLAS_H

#include <stdbool.h>

#include "peer.h"

typedef uint64_t GrB_Index;
typedef struct GrB_Matrix_opaque *GrB_Matrix;
typedef struct GrB_Vector_opaque *GrB_Vector;
typedef struct GrB_Descriptor_opaque *GrB_Descriptor;
typedef struct GrB_Type_opaque *GrB_Type;
typedef struct GrB_BinaryOp_opaque *GrB_BinaryOp;
typedef struct GrB_Monoid_opaque *GrB_Monoid;
typedef struct GrB_Semiring_opaque *GrB_Semiring;
typedef struct GrB_UnaryOp_opaque *GrB_UnaryOp;
typedef struct GrB_IndexUnaryOp_opaque *GrB_IndexUnaryOp;

enum { GrB_SUCCESS = 0, GrB_NONBLOCKING = 0, GrB_MATERIALIZE = 1, GrB_CSR_FORMAT = 0 };
/* The storage of a vector or matrix. */
enum { GxB_SPARSITY_CONTROL = 7036, GxB_SPARSE = 2, GxB_BITMAP = 4 };

extern const GrB_Index *GrB_ALL;
extern GrB_Type GrB_FP64, GrB_BOOL, GrB_INT32, GrB_INT64;
extern GrB_UnaryOp GxB_ONE_BOOL, GrB_ABS_FP64;
extern GrB_IndexUnaryOp GrB_TRIL, GrB_TRIU, GrB_VALUEGE_INT64, GrB_VALUELT_FP64, GrB_VALUEGT_FP64, GrB_VALUENE_BOOL, GrB_VALUELE_FP64;
extern GrB_BinaryOp GrB_PLUS_FP64, GrB_TIMES_FP64, GrB_MINUS_FP64, GrB_DIV_FP64, GrB_LT_FP64, GrB_MIN_INT64;
extern GrB_Monoid GrB_PLUS_MONOID_FP64, GrB_PLUS_MONOID_INT64;
extern GrB_Semiring GrB_PLUS_TIMES_SEMIRING_FP64, GxB_PLUS_PAIR_FP64, GxB_PLUS_PAIR_INT64, GxB_ANY_PAIR_BOOL, GxB_PLUS_SECOND_FP64,
    GxB_PLUS_FIRST_FP64, GrB_MIN_PLUS_SEMIRING_FP64, GrB_MIN_SECOND_SEMIRING_INT64;
extern GrB_Descriptor GrB_DESC_S, GrB_DESC_ST1, GrB_DESC_R, GrB_DESC_RS, GrB_DESC_RSC, GrB_DESC_SC;

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
extern int GrB_vxm(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_Semiring, GrB_Vector, GrB_Matrix, GrB_Descriptor);
extern int GrB_Vector_free(GrB_Vector *);
extern int GrB_Vector_dup(GrB_Vector *, GrB_Vector);
extern int GrB_Matrix_dup(GrB_Matrix *, GrB_Matrix);
extern int GrB_Vector_set_INT32(GrB_Vector, int32_t, int field);
extern int GrB_Vector_setElement_BOOL(GrB_Vector, bool, GrB_Index);
extern int GrB_Vector_setElement_INT32(GrB_Vector, int32_t, GrB_Index);
extern int GrB_Vector_assign(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_Vector, const GrB_Index *, GrB_Index, GrB_Descriptor);
extern int GrB_Vector_assign_BOOL(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, bool, const GrB_Index *, GrB_Index, GrB_Descriptor);
extern int GrB_Vector_assign_INT32(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, int32_t, const GrB_Index *, GrB_Index, GrB_Descriptor);
extern int GrB_Vector_eWiseMult_BinaryOp(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_BinaryOp, GrB_Vector, GrB_Vector,
                                         GrB_Descriptor);
extern int GrB_Vector_eWiseAdd_BinaryOp(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_BinaryOp, GrB_Vector, GrB_Vector, GrB_Descriptor);
extern int GrB_Vector_apply(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_UnaryOp, GrB_Vector, GrB_Descriptor);
extern int GrB_Vector_apply_BinaryOp2nd_FP64(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_BinaryOp, GrB_Vector, double, GrB_Descriptor);
extern int GrB_Vector_select_FP64(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Vector, double, GrB_Descriptor);
extern int GrB_Vector_select_BOOL(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Vector, bool, GrB_Descriptor);
extern int GrB_Vector_reduce_FP64(double *, GrB_BinaryOp, GrB_Monoid, GrB_Vector, GrB_Descriptor);
extern int GrB_Vector_reduce_INT64(int64_t *, GrB_BinaryOp, GrB_Monoid, GrB_Vector, GrB_Descriptor);
extern int GxB_Vector_pack_Full(GrB_Vector, void **, GrB_Index bytes, bool iso, GrB_Descriptor);
extern int GxB_Vector_unpack_Full(GrB_Vector, void **, GrB_Index *bytes, bool *iso, GrB_Descriptor);
extern int GrB_Matrix_apply(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_UnaryOp, GrB_Matrix, GrB_Descriptor);
extern int GrB_Matrix_select_INT64(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Matrix, int64_t, GrB_Descriptor);
extern int GrB_Matrix_select_FP64(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Matrix, double, GrB_Descriptor);
extern int GrB_Matrix_extract(GrB_Matrix, GrB_Matrix mask, GrB_BinaryOp, GrB_Matrix, const GrB_Index *, GrB_Index, const GrB_Index *,
                              GrB_Index, GrB_Descriptor);
extern int GrB_Matrix_reduce_INT64(int64_t *, GrB_BinaryOp, GrB_Monoid, GrB_Matrix, GrB_Descriptor);
extern int GrB_Matrix_reduce_Monoid(GrB_Vector, GrB_Vector mask, GrB_BinaryOp, GrB_Monoid, GrB_Matrix, GrB_Descriptor);

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
    /* A matrix by columns becomes its transpose by rows. */
    GrB_Index height = (GrB_Index)from->dims[from->mode_order[0]], width = (GrB_Index)from->dims[from->mode_order[1]];
    must(GrB_Matrix_import_FP64(&to, GrB_FP64, height, width, pos, crd, from->vals,
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

#endif

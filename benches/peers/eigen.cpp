// Kernels of Eigen 3, on tensors given as `peer.h` says; indices of 32 bits, rows first, threads where Eigen has them.
//
//   spmv      y = A x            spmm     C = A B, B and C dense by rows     spgemm     C = A A
//   add       C = A + B          add3     D = A + B + C                      csr-csc    A by columns
//   triangles the sum of (L L) .* L
//   sddmm     C(i,j) = A(i,j) * (D.row(i) . E.row(j)), a loop on OpenMP threads: Eigen has no such function

#include <Eigen/SparseCore>
#include <memory>
#include <string>

#include "peer.h"

namespace {

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>;
using ByColumns = Eigen::SparseMatrix<double, Eigen::ColMajor, int32_t>;
using SparseMap = Eigen::Map<const Sparse>;
using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using DenseMap = Eigen::Map<Dense, Eigen::Aligned64>;
using VectorMap = Eigen::Map<Eigen::VectorXd, Eigen::Aligned64>;

peer_tensor *given;
std::string name;
std::unique_ptr<Sparse> made;
std::unique_ptr<ByColumns> made_by_columns;

SparseMap sparse(int k) {
    const peer_tensor &from = given[k];
    const peer_level &level = from.levels[1];
    return SparseMap(from.dims[0], from.dims[1], from.values, level.pos, level.crd, from.vals);
}

DenseMap dense(int k) { return DenseMap(given[k].vals, given[k].dims[0], given[k].dims[1]); }

VectorMap vector(int k) { return VectorMap(given[k].vals, given[k].dims[0]); }

void sample(const SparseMap &a, const DenseMap &d, const DenseMap &e, Sparse &c) {
    c = a;
#pragma omp parallel for schedule(dynamic, 64)
    for (Eigen::Index row = 0; row < c.outerSize(); ++row)
        for (Sparse::InnerIterator entry(c, row); entry; ++entry)
            entry.valueRef() *= d.row(row).dot(e.row(entry.col()));
}

template <typename Matrix>
void report_outer(const Matrix &matrix, bool transposed) {
    report_rows(matrix.outerSize(), matrix.outerIndexPtr(), matrix.outerIndexPtr() + 1, matrix.innerIndexPtr(),
                matrix.valuePtr(), transposed);
}

}  // namespace

static void prepare(peer_tensor *tensors, int, const char *kernel) {
    given = tensors;
    name = kernel;
}

static void compute(void) {
    if (name == "spmv") {
        vector(0).noalias() = sparse(1) * vector(2);
    } else if (name == "spmm") {
        dense(0).noalias() = sparse(1) * dense(2);
    } else if (name == "csr-csc") {
        made_by_columns = std::make_unique<ByColumns>(sparse(1));
    } else if (name == "triangles") {
        const Sparse product = sparse(1) * sparse(1);
        given[0].vals[0] = product.cwiseProduct(sparse(1)).sum();
    } else {
        made = std::make_unique<Sparse>();
        if (name == "spgemm") *made = sparse(1) * sparse(1);
        else if (name == "add") *made = sparse(1) + sparse(2);
        else if (name == "add3") *made = sparse(1) + sparse(2) + sparse(3);
        else if (name == "sddmm") sample(sparse(1), dense(2), dense(3), *made);
        else fail("an unknown kernel");
    }
}

static void report(void) {
    if (made) report_outer(*made, false);
    else if (made_by_columns) report_outer(*made_by_columns, true);
    else report_tensor(&given[0]);
}

static void release(void) {
    made.reset();
    made_by_columns.reset();
}

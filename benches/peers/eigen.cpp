// Kernels of Eigen 3, on tensors given as `peer.h` says; indices of 32 bits, rows first, one thread.
//
//   spmv    y = A x             spmm    C = A B, B and C dense by rows       spgemm  C = A A
//   add     C = A + B           sddmm   C(i,j) = A(i,j) * (D.row(i) . E.row(j)), a loop: Eigen has no such function

#include <Eigen/SparseCore>
#include <memory>
#include <string>

#include "peer.h"

namespace {

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>;
using SparseMap = Eigen::Map<const Sparse>;
using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using DenseMap = Eigen::Map<Dense, Eigen::Aligned64>;
using VectorMap = Eigen::Map<Eigen::VectorXd, Eigen::Aligned64>;

peer_tensor *given;
std::string name;
std::unique_ptr<Sparse> sparse_result;

SparseMap sparse(int k) {
    const peer_tensor &from = given[k];
    const peer_level &level = from.levels[1];
    return SparseMap(from.dims[0], from.dims[1], from.values, level.pos, level.crd, from.vals);
}

DenseMap dense(int k) { return DenseMap(given[k].vals, given[k].dims[0], given[k].dims[1]); }

VectorMap vector(int k) { return VectorMap(given[k].vals, given[k].dims[0]); }

void sample(const SparseMap &a, const DenseMap &d, const DenseMap &e, Sparse &c) {
    c = a;
    for (Eigen::Index row = 0; row < c.outerSize(); ++row)
        for (Sparse::InnerIterator entry(c, row); entry; ++entry)
            entry.valueRef() *= d.row(row).dot(e.row(entry.col()));
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
    } else {
        sparse_result = std::make_unique<Sparse>();
        if (name == "spgemm") *sparse_result = sparse(1) * sparse(1);
        else if (name == "add") *sparse_result = sparse(1) + sparse(2);
        else if (name == "sddmm") sample(sparse(1), dense(2), dense(3), *sparse_result);
        else fail("an unknown kernel");
    }
}

static const double *result(int64_t *count) {
    *count = sparse_result ? sparse_result->nonZeros() : given[0].values;
    return sparse_result ? sparse_result->valuePtr() : given[0].vals;
}

static void release(void) { sparse_result.reset(); }

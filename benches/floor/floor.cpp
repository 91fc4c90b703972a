// Floors: kernels written by hand with care, to see how fast a processor computes them. Each has several variants, because which
// one is the fastest depends on the processor and on the matrix; the headers beside say what they do. A program of `../peers/peer.h`;
// a kernel is named `spmv:four`.

#include <string>

#include "add.hpp"
#include "floor.hpp"
#include "sddmm.hpp"
#include "spgemm.hpp"
#include "spmm.hpp"
#include "spmv.hpp"
#include "transpose.hpp"

namespace {

using namespace floors;

struct Variant {
    const char *name;
    void (*compute)();
};

template <void (*rows)(Range)>
void multiply_vector() {
    on_rows(spmv::a, rows);
}

template <spmm::Options options>
void multiply_matrix() {
    on_rows(spmm::a, spmm::all<options>);
}

// Vectors of four at least, which are what `flat` is written for.
constexpr int kStep = kLanes == 8 ? 8 : 4;

const Variant variants[] = {
    {"spmv:one", multiply_vector<spmv::one>},
    {"spmv:four", multiply_vector<spmv::four>},
    {"spmv:inserts", multiply_vector<spmv::inserts>},
    {"spmv:inserts-512", multiply_vector<spmv::inserts_wide<8>>},
    {"spmv:inserts-pairs", multiply_vector<spmv::inserts_pairs>},
    {"spmv:flat-inserts", multiply_vector<spmv::flat<1, kStep, false>>},
    {"spmv:flat-inserts-2", multiply_vector<spmv::flat<2, kStep, false>>},
#if defined(__AVX2__)
    {"spmv:gather-256", multiply_vector<spmv::gather_256>},
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
    {"spmv:gather", multiply_vector<spmv::gather>},
    {"spmv:rows", multiply_vector<spmv::rows_of_eight>},
    {"spmv:flat", multiply_vector<spmv::flat<1, 8, true>>},
    {"spmv:flat-2", multiply_vector<spmv::flat<2, 8, true>>},
    {"spmv:flat-4", multiply_vector<spmv::flat<4, 8, true>>},
    {"spmv:flat-late", multiply_vector<spmv::flat_late<1>>},
    {"spmv:flat-late-2", multiply_vector<spmv::flat_late<2>>},
#endif
    {"spmm:registers", multiply_matrix<spmm::Options{32, 0, false, false, false}>},
    {"spmm:pairs", multiply_matrix<spmm::Options{32, 0, true, false, false}>},
    {"spmm:wide", multiply_matrix<spmm::Options{spmm::kWide, 0, false, false, false}>},
    {"spmm:prefetch-4", multiply_matrix<spmm::Options{32, 4, false, false, false}>},
    {"spmm:prefetch-8", multiply_matrix<spmm::Options{32, 8, false, false, false}>},
    {"spmm:prefetch-16", multiply_matrix<spmm::Options{32, 16, false, false, false}>},
    {"spmm:wide-prefetch", multiply_matrix<spmm::Options{spmm::kWide, 4, false, false, false}>},
    {"spmm:stream", multiply_matrix<spmm::Options{32, 8, false, true, false}>},
    {"spmm:wide-stream", multiply_matrix<spmm::Options{spmm::kWide, 4, false, true, false}>},
    {"spmm:outer", multiply_matrix<spmm::Options{32, 8, false, false, true}>},
    {"add:merge", add::compute<false>},
    {"add:branchless", add::compute<true>},
    {"sddmm:dots", sddmm::compute<0, false>},
    {"sddmm:eights", sddmm::compute<0, true>},
    {"sddmm:prefetch-8", sddmm::compute<8, true>},
    {"spgemm:list-sort", spgemm::compute<spgemm::list_row<false, spgemm::Sort::comparing>>},
    {"spgemm:list-radix", spgemm::compute<spgemm::list_row<false, spgemm::Sort::radix>>},
    {"spgemm:bitmap", spgemm::compute<spgemm::bitmap_row<false>>},
    {"spgemm:bitmap-test", spgemm::compute<spgemm::bitmap_row<true>>},
    {"spgemm:bytes", spgemm::compute<spgemm::bytes_row<false>>},
    {"spgemm:bytes-test", spgemm::compute<spgemm::bytes_row<true>>},
    {"spgemm:by-row", spgemm::compute<spgemm::row_by_its_products>},
    {"spgemm:list", spgemm::compute<spgemm::list_row<false, spgemm::Sort::none>>},
    {"spgemm:branchless", spgemm::compute<spgemm::list_row<true, spgemm::Sort::none>>},
    {"spgemm:hash", spgemm::compute<spgemm::hash_row>},
    {"csr-csc:counting", transpose::counting},
    {"csr-csc:bins", transpose::bins<false>},
    {"csr-csc:bins-stream", transpose::bins<true>},
};

peer_tensor *given;
const Variant *chosen;

}  // namespace

static void prepare(peer_tensor *tensors, int, const char *kernel) {
    given = tensors;
    for (const Variant &variant : variants)
        if (std::string(variant.name) == kernel) chosen = &variant;
    if (!chosen) fail("the processor has no instructions for this variant");
    const Csr first = csr(tensors[1]);
    if (is_kernel(kernel, "spmv")) {
        spmv::a = first;
        spmv::x = tensors[2].vals;
        spmv::y = tensors[0].vals;
    } else if (is_kernel(kernel, "spmm")) {
        spmm::a = first;
        spmm::b = tensors[2].vals;
        spmm::c = tensors[0].vals;
        spmm::columns = tensors[2].dims[1];
        if (spmm::columns % 32) fail("the number of columns is no multiple of 32");
    } else if (is_kernel(kernel, "add")) {
        add::a = first;
        add::b = csr(tensors[2]);
    } else if (is_kernel(kernel, "sddmm")) {
        sddmm::a = first;
        sddmm::d = tensors[2].vals;
        sddmm::e = tensors[3].vals;
        if (tensors[2].dims[1] != sddmm::kWidth) fail("rows are of other than 32 numbers");
    } else if (is_kernel(kernel, "spgemm")) {
        spgemm::a = first;
    } else {
        transpose::a = first;
    }
}

static void compute(void) { chosen->compute(); }

static void report(void) {
    if (made.pos) report_rows(made.rows, made.pos, made.pos + 1, made.crd, made.vals, made.transposed);
    else report_tensor(&given[0]);
}

static void release(void) {}

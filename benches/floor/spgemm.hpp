// C = A A, row by row (Gustavson 1978); threads share products evenly.
//
// Rows in order of their columns:
//
//   list-sort     columns seen are marked and listed, the list sorted by std::sort
//   list-radix    lists of more than 64 columns sorted by digits of 8 bits instead
//   bitmap        no list: a bit for each column, and one for each word of 64; set bits are walked in order
//   bitmap-test   the same, bits are set only where they are not
//   bytes         a byte for each column, one for each 64 columns and one for each 4096, so that nothing is read to set one; 64 at
//                 a time become a word, whose bits are walked; bytes-test, set only where they are not
//   by-row        by the row's products: a scaled copy of one row; a short list, sorted; else the bitmap, with a test where columns
//                 have repeated in the rows before
//
// Rows in any order:
//
//   list          as list-sort, without the sort
//   branchless    the same; a column is always written behind the list, which grows by arithmetic
//   hash          a table with room for twice the row's products, probed linearly

#ifndef LACUNAR_FLOOR_SPGEMM_HPP
#define LACUNAR_FLOOR_SPGEMM_HPP

#include "floor.hpp"

namespace floors::spgemm {

inline Csr a;

// A row as a thread collects it.
struct Row {
    Kept<double> sums;
    Kept<uint8_t> marks, word_marks, group_marks;
    Kept<int32_t> list, other;
    Kept<uint64_t> bits, words;
    Kept<int32_t> keys;
    Kept<double> slots;
    int64_t count = 0;
    bool repeated = false;

    void clear() {
        const int64_t words_of = a.columns / 64 + 1, groups_of = words_of / 64 + 1;
        const auto zero = [](auto &kept, int64_t size) {
            memset(kept.fresh(size), 0, sizeof(*kept.data) * static_cast<size_t>(size));
        };
        zero(sums, a.columns);
        zero(bits, words_of);
        zero(words, groups_of);
        // Whole groups of 64.
        zero(marks, 64 * words_of);
        zero(word_marks, 64 * groups_of);
        zero(group_marks, 64 * (groups_of / 64 + 1));
        list.fresh(a.columns + 1);
        other.fresh(a.columns + 1);
    }
};

// Calls `add(column, product)` for each product of a row.
template <typename Add>
inline void products(int64_t row, Add add) {
    for (int64_t p = a.pos[row]; p < a.pos[row + 1]; p++) {
        const int64_t k = a.crd[p];
        const double factor = a.vals[p];
        for (int64_t q = a.pos[k]; q < a.pos[k + 1]; q++) add(a.crd[q], factor * a.vals[q]);
    }
}

inline int64_t count_products(int64_t row) {
    int64_t count = 0;
    for (int64_t p = a.pos[row]; p < a.pos[row + 1]; p++) count += a.pos[a.crd[p] + 1] - a.pos[a.crd[p]];
    return count;
}

// ---- lists ----

template <bool branchless>
inline void collect(int64_t row, Row &at) {
    double *sums = at.sums.data;
    uint8_t *marks = at.marks.data;
    int32_t *list = at.list.data;
    int64_t n = 0;
    products(row, [&](int32_t column, double value) {
        if constexpr (branchless) {
            list[n] = column;
            n += !marks[column];
            marks[column] = 1;
            sums[column] += value;
        } else if (marks[column]) {
            sums[column] += value;
        } else {
            marks[column] = 1;
            list[n++] = column;
            sums[column] = value;
        }
    });
    at.count = n;
}

// Appends the columns of the list, and clears what was collected of them.
inline void append_list(Row &at, const int32_t *list, Writer &writer) {
    writer.reserve(at.count);
    int32_t *crd = writer.crd.data + writer.used;
    double *vals = writer.vals.data + writer.used;
    for (int64_t n = 0; n < at.count; n++) {
        const int32_t column = list[n];
        crd[n] = column;
        vals[n] = at.sums.data[column];
        at.sums.data[column] = 0;
        at.marks.data[column] = 0;
    }
    writer.used += at.count;
}

// Sorts by digits of 8 bits, the lowest first. Returns where the sorted list is.
inline int32_t *radix_sort(int32_t *list, int32_t *other, int64_t count) {
    for (int shift = 0; (a.columns - 1) >> shift; shift += 8) {
        int32_t places[256] = {};
        for (int64_t n = 0; n < count; n++) places[(list[n] >> shift) & 255]++;
        int32_t sum = 0;
        for (int32_t &place : places) {
            const int32_t own = place;
            place = sum;
            sum += own;
        }
        for (int64_t n = 0; n < count; n++) other[places[(list[n] >> shift) & 255]++] = list[n];
        std::swap(list, other);
    }
    return list;
}

enum class Sort { none, comparing, radix };

template <bool branchless, Sort sort>
inline void list_row(int64_t row, Row &at, Writer &writer) {
    collect<branchless>(row, at);
    int32_t *list = at.list.data;
    if (sort == Sort::radix && at.count > 64) list = radix_sort(list, at.other.data, at.count);
    else if (sort != Sort::none) std::sort(list, list + at.count);
    append_list(at, list, writer);
}

// ---- bitmaps, and bytes of two levels above them ----

// Appends the columns of set bits of a word, and clears their sums.
inline int64_t append_word(uint64_t bits, int64_t first, double *sums, int32_t *crd, double *vals, int64_t n) {
    for (; bits; bits &= bits - 1) {
        const int64_t column = first + __builtin_ctzll(bits);
        crd[n] = static_cast<int32_t>(column);
        vals[n++] = sums[column];
        sums[column] = 0;
    }
    return n;
}

template <bool tested>
inline void bitmap_row(int64_t row, Row &at, Writer &writer) {
    double *sums = at.sums.data;
    uint64_t *bits = at.bits.data, *words = at.words.data;
    int64_t count = 0;
    products(row, [&](int32_t column, double value) {
        const uint64_t bit = uint64_t{1} << (column & 63);
        sums[column] += value;
        count++;
        if (tested && bits[column >> 6] & bit) return;
        bits[column >> 6] |= bit;
        words[column >> 12] |= uint64_t{1} << ((column >> 6) & 63);
    });
    writer.reserve(std::min(count, a.columns));
    int32_t *crd = writer.crd.data + writer.used;
    double *vals = writer.vals.data + writer.used;
    int64_t n = 0;
    for (int64_t group = 0; group <= (a.columns - 1) >> 12; group++) {
        for (uint64_t of_group = words[group]; of_group; of_group &= of_group - 1) {
            const int64_t word = group * 64 + __builtin_ctzll(of_group);
            n = append_word(bits[word], word * 64, sums, crd, vals, n);
            bits[word] = 0;
        }
        words[group] = 0;
    }
    writer.used += n;
}

// A bit for each of 64 bytes that is not 0; the bytes are cleared. The address is a multiple of 64.
inline uint64_t take_64(uint8_t *bytes) {
    uint64_t mask = 0;
#if defined(__AVX512BW__)
    const __m512i all = _mm512_load_si512(bytes);
    mask = _mm512_test_epi8_mask(all, all);
    if (mask) _mm512_store_si512(bytes, _mm512_setzero_si512());
#else
    for (int part = 0; part < 8; part++) {
        uint64_t eight;
        memcpy(&eight, bytes + 8 * part, 8);
        // Bytes are 0 or 1: the multiplication brings them together in the highest byte.
        mask |= ((eight * 0x0102040810204080u) >> 56) << (8 * part);
    }
    if (mask) memset(bytes, 0, 64);
#endif
    return mask;
}

template <bool tested>
inline void bytes_row(int64_t row, Row &at, Writer &writer) {
    double *sums = at.sums.data;
    uint8_t *marks = at.marks.data, *words = at.word_marks.data, *groups = at.group_marks.data;
    int64_t count = 0;
    products(row, [&](int32_t column, double value) {
        sums[column] += value;
        count++;
        if (tested && marks[column]) return;
        marks[column] = 1;
        words[column >> 6] = 1;
        groups[column >> 12] = 1;
    });
    writer.reserve(std::min(count, a.columns));
    int32_t *crd = writer.crd.data + writer.used;
    double *vals = writer.vals.data + writer.used;
    int64_t n = 0;
    for (int64_t top = 0; top <= (a.columns - 1) >> 18; top++)
        for (uint64_t of_top = take_64(groups + top * 64); of_top; of_top &= of_top - 1) {
            const int64_t group = top * 64 + __builtin_ctzll(of_top);
            for (uint64_t of_group = take_64(words + group * 64); of_group; of_group &= of_group - 1) {
                const int64_t word = group * 64 + __builtin_ctzll(of_group);
                n = append_word(take_64(marks + word * 64), word * 64, sums, crd, vals, n);
            }
        }
    writer.used += n;
}

// ---- by row ----

// A list of at most so many products is sorted faster than a bitmap is walked.
constexpr int64_t kShort = 32;
// So many products of a column and more are few enough mispredicted branches that the test pays.
constexpr int64_t kRepeated = 5;

inline void insertion_sort(int32_t *list, int64_t count) {
    for (int64_t n = 1; n < count; n++) {
        const int32_t column = list[n];
        int64_t k = n;
        for (; k > 0 && list[k - 1] > column; k--) list[k] = list[k - 1];
        list[k] = column;
    }
}

inline void row_by_its_products(int64_t row, Row &at, Writer &writer) {
    if (a.pos[row + 1] - a.pos[row] == 1) {
        const int64_t p = a.pos[row], k = a.crd[p], begin = a.pos[k], count = a.pos[k + 1] - begin;
        writer.reserve(count);
        if (count) memcpy(writer.crd.data + writer.used, a.crd + begin, sizeof(int32_t) * static_cast<size_t>(count));
        double *vals = writer.vals.data + writer.used;
        for (int64_t n = 0; n < count; n++) vals[n] = a.vals[p] * a.vals[begin + n];
        writer.used += count;
        return;
    }
    const int64_t products_of = count_products(row), used = writer.used;
    if (products_of <= kShort) {
        collect<false>(row, at);
        insertion_sort(at.list.data, at.count);
        append_list(at, at.list.data, writer);
        return;
    }
    if (at.repeated) bitmap_row<true>(row, at, writer);
    else bitmap_row<false>(row, at, writer);
    at.repeated = products_of >= kRepeated * (writer.used - used);
}

// ---- a hash table ----

inline void hash_row(int64_t row, Row &at, Writer &writer) {
    const int64_t most = std::min(count_products(row), a.columns);
    int bits = 3;
    while ((int64_t{1} << bits) < 2 * most) bits++;
    const int64_t size = int64_t{1} << bits;
    if (at.keys.room < size) {
        std::fill_n(at.keys.fresh(size), size, -1);
        at.slots.fresh(size);
        at.list.grow(0, size);
    }
    int32_t *keys = at.keys.data, *list = at.list.data;
    double *slots = at.slots.data;
    int64_t n = 0;
    products(row, [&](int32_t column, double value) {
        uint32_t slot = (static_cast<uint32_t>(column) * 2654435769u) >> (32 - bits);
        while (keys[slot] != column) {
            if (keys[slot] < 0) {
                keys[slot] = column;
                slots[slot] = 0;
                list[n++] = static_cast<int32_t>(slot);
                break;
            }
            slot = (slot + 1) & static_cast<uint32_t>(size - 1);
        }
        slots[slot] += value;
    });
    writer.reserve(n);
    int32_t *crd = writer.crd.data + writer.used;
    double *vals = writer.vals.data + writer.used;
    for (int64_t k = 0; k < n; k++) {
        crd[k] = keys[list[k]];
        vals[k] = slots[list[k]];
        keys[list[k]] = -1;
    }
    writer.used += n;
}

// ---- all rows ----

template <void (*one)(int64_t, Row &, Writer &)>
inline void compute() {
    static Row rows[kMostThreads];
    static Kept<int64_t> kept;
    // Products before each row, so that threads get equal shares.
    int64_t *before = kept.fresh(a.rows + 1);
    before[0] = 0;
    if (omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < a.rows; row++) before[row + 1] = count_products(row) + 1;
        for (int64_t row = 0; row < a.rows; row++) before[row + 1] += before[row];
    } else {
        for (int64_t row = 0; row < a.rows; row++) before[row + 1] = row + 1;
    }
    const auto weight = [&](int64_t row) { return before[row]; };
    assemble(a.rows, weight, [](Range range, Writer &writer, int32_t *ends) {
        Row &at = rows[omp_get_thread_num()];
        if (!at.sums.data) at.clear();
        for (int64_t row = range.begin; row < range.end; row++) {
            one(row, at, writer);
            ends[row + 1] = static_cast<int32_t>(writer.used);
        }
    });
}

}  // namespace floors::spgemm

#endif

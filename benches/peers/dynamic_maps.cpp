/* PAM and CPAM as peers of dynamic tensors: a map of columns for each row, in an array, and in a map of rows.
 *
 * Compiled with -DPAM or -DCPAM, for one thread with -DPARLAY_SEQUENTIAL. Rows are shared among threads. Batches are sorted by row and column, and each row's part goes into its
 * map at once; in CPAM, whose insertion of one entry loses others of small maps, so does a single one. `step rows` goes through the array, `step tree` through a map of maps,
 * `step map` makes a map of the results of a map of maps, and `step sum` adds the matrix and its columns moved by one (PAM alone; `step prepare` makes what these need).
 */
#include "dynamic.h"

#include "parlay/primitives.h"
#ifdef PAM
#include "pam/pam.h"
template <class Entry> using map_of = pam_map<Entry>;
#else
#include "cpam/cpam.h"
template <class Entry> using map_of = cpam::pam_map<Entry, 32>;
#endif

using dynamic::Edge;

struct column_entry {
    using key_t = uint32_t;
    using val_t = double;
    static bool comp(const key_t &a, const key_t &b) { return a < b; }
};
using Row = map_of<column_entry>;
using Pair = typename Row::E;

#ifdef PAM
struct row_entry {
    using key_t = uint32_t;
    using val_t = Row;
    static bool comp(const key_t &a, const key_t &b) { return a < b; }
};
using Rows = pam_map<row_entry>;
#endif

struct Graph {
    std::vector<Row> rows;
#ifdef PAM
    Rows tree;
    Row mapped;
    std::vector<Pair> others;
    std::vector<size_t> ends;
#endif
    size_t columns;

    Graph(size_t rows, size_t columns) : rows(rows), columns(columns) {}

    size_t size() const { return std::accumulate(rows.begin(), rows.end(), size_t(0), [](size_t n, const Row &row) { return n + row.size(); }); }

    template <class F> static void by_row(const std::vector<Edge> &edges, const F &each) {
        std::vector<size_t> begins;
        for (size_t k = 0; k < edges.size(); k++)
            if (!k || edges[k].row != edges[k - 1].row) begins.push_back(k);
        begins.push_back(edges.size());
        parlay::parallel_for(0, begins.size() - 1, [&](size_t r) {
            each(edges[begins[r]].row, &edges[begins[r]], begins[r + 1] - begins[r]);
        });
    }

    static std::vector<Edge> sorted(const Edge *some, size_t n) {
        std::vector<Edge> edges(some, some + n);
#ifdef PARLAY_SEQUENTIAL
        return dynamic::sorted(std::move(edges));
#else
        parlay::sort_inplace(parlay::make_slice(edges), dynamic::before);
        return edges;
#endif
    }

    static void put(Row &row, const Edge *some, size_t n) {
        parlay::sequence<Pair> pairs(n);
        for (size_t k = 0; k < n; k++) pairs[k] = Pair(some[k].column, some[k].value);
        auto last = [](double, double b) { return b; };
#ifdef PAM
        row.root = Row::Tree::multi_insert_sorted(row.root, pairs.data(), n, last);
#else
        row = Row::multi_insert_sorted(std::move(row), parlay::make_slice(pairs), last);
#endif
    }

    void build(const std::vector<Edge> &edges) {
        by_row(edges, [&](uint32_t i, const Edge *some, size_t n) { put(rows[i], some, n); });
    }

    void insert(const Edge *edges, size_t n) {
#ifdef PAM
        if (n == 1) return rows[edges->row].insert(Pair(edges->column, edges->value));
#endif
        build(sorted(edges, n));
    }

    void remove(const Edge *edges, size_t n) {
#ifdef PAM
        if (n == 1) {
            rows[edges->row] = Row::remove(std::move(rows[edges->row]), edges->column);
            return;
        }
#endif
        by_row(sorted(edges, n), [&](uint32_t i, const Edge *some, size_t n) {
            parlay::sequence<uint32_t> keys(n);
            for (size_t k = 0; k < n; k++) keys[k] = some[k].column;
#ifdef PAM
            rows[i].root = Row::Tree::multi_delete_sorted(rows[i].root, keys.data(), n);
#else
            rows[i] = Row::multi_delete_sorted(std::move(rows[i]), parlay::make_slice(keys));
#endif
        });
    }

    static double dot(Row &row, const double *x) {
        double sum = 0;
#ifdef PAM
        auto add = [&](Pair &pair) { sum += pair.second * x[pair.first]; };
        Row::Tree::foreach_seq(row.root, add, true);
#else
        auto add = [&](auto &&pair) { sum += std::get<1>(pair) * x[std::get<0>(pair)]; };
        Row::foreach_seq(row, add);
#endif
        return sum;
    }

#ifdef PAM
    /* The other operand of sums by rows, as csr: the matrix with all columns moved by one, and the last to the front. */
    void shift() {
        others.clear();
        ends.clear();
        for (Row &row : rows) {
            size_t first = others.size();
            auto take = [&](Pair &pair) { others.emplace_back((pair.first + 1) % columns, pair.second); };
            Row::Tree::foreach_seq(row.root, take, true);
            std::sort(others.begin() + first, others.end());
            ends.push_back(others.size());
        }
    }

    /* The sum in csr, by way of a map of each row of the other operand and the union of both. */
    void add_shifted(double *y) {
        std::vector<size_t> pos(rows.size() + 1);
        std::vector<uint32_t> crd;
        std::vector<double> values;
        for (size_t i = 0, first = 0; i < rows.size(); first = ends[i++]) {
            Row other, both;
            if (ends[i] > first) other.root = Row::Tree::from_array(&others[first], ends[i] - first);
            both = Row::map_union(rows[i], std::move(other), [](double a, double b) { return a + b; });
            auto take = [&](Pair &pair) {
                crd.push_back(pair.first);
                values.push_back(pair.second);
                y[i] += pair.second;
            };
            Row::Tree::foreach_seq(both.root, take, true);
            pos[i + 1] = crd.size();
        }
    }
#endif

    void unpack(double *y) {
#ifdef PAM
        auto take = [&](Pair &pair) { y[pair.first] = pair.second; };
        Row::Tree::foreach_seq(mapped.root, take, true);
        mapped = Row();
#else
        (void)y;
#endif
    }

    bool step(const char *name, const double *x, double *y) {
        if (!strcmp(name, "rows")) {
            parlay::parallel_for(0, rows.size(), [&](size_t i) { y[i] = dot(rows[i], x); });
            return true;
        }
#ifdef PAM
        if (!strcmp(name, "tree")) {
#ifdef PARLAY_SEQUENTIAL
            auto add = [&](typename Rows::E &row) { y[row.first] = dot(row.second, x); };
            Rows::Tree::foreach_seq(tree.root, add, true);
#else
            auto add = [&](typename Rows::E &row, size_t) { y[row.first] = dot(row.second, x); };
            Rows::Tree::foreach_index(tree.root, 0, add, 64, true);
#endif
            return true;
        }
        if (!strcmp(name, "map")) {
            mapped.root = Row::Tree::template map<Rows::Tree>(tree.root, [&](typename Rows::E &row) { return dot(row.second, x); });
            return true;
        }
        if (!strcmp(name, "sum")) {
            add_shifted(y);
            return true;
        }
        if (!strcmp(name, "prepare")) {
            parlay::sequence<typename Rows::E> pairs;
            for (size_t i = 0; i < rows.size(); i++)
                if (!rows[i].is_empty()) pairs.push_back({uint32_t(i), rows[i]});
            auto last = [](const Row &, const Row &b) { return b; };
            tree = Rows();
            shift();
            tree.root = Rows::Tree::multi_insert_sorted(nullptr, pairs.data(), pairs.size(), last);
            return true;
        }
#endif
        return false;
    }
};

int main(int argc, char **argv) { return dynamic::serve<Graph>(argc, argv); }

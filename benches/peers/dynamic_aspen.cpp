/* Aspen as a peer of dynamic tensors: its graph of C-trees, with differences of columns as it comes. Its edges have no values, so that a
 * step adds up x alone, and reads less than others do.
 *
 * `step map` goes through all edges of the tree of vertices, `step flat` through the array of vertices that Aspen calls a flat
 * snapshot, which `step prepare` makes. For one thread it is compiled without a scheduler, for several with
 * -DHOMEGROWN.
 */
#include "dynamic.h"

#include "graph/api.h"

using dynamic::Edge;
using Pair = std::tuple<uintV, uintV>;

#ifdef HOMEGROWN
constexpr bool SEQUENTIAL = false;
#else
constexpr bool SEQUENTIAL = true;
#endif

struct Graph {
    size_t n;
    treeplus_graph graph;
    pbbs::sequence<typename treeplus_graph::edge_struct> flat;

    Graph(size_t rows, size_t columns) : n(std::max(rows, columns)) {}

    size_t size() { return graph.get_root() ? graph.num_edges() : 0; }

    void build(const std::vector<Edge> &edges) {
        uintE *offsets = pbbs::new_array_no_init<uintE>(n);
        uintV *columns = pbbs::new_array_no_init<uintV>(edges.size());
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            offsets[i] = k;
            for (; k < edges.size() && edges[k].row == i; k++) columns[k] = edges[k].column;
        }
        graph = treeplus_graph(n, edges.size(), offsets, columns);
    }

    std::vector<Pair> pairs(const Edge *edges, size_t count) {
        auto in_order = dynamic::sorted(std::vector<Edge>(edges, edges + count));
        std::vector<Pair> pairs;
        for (const Edge &edge : in_order) pairs.emplace_back(edge.row, edge.column);
        return pairs;
    }

    void insert(const Edge *edges, size_t count) {
        auto some = pairs(edges, count);
        take(graph.insert_edges_batch(count, some.data(), true, false, n, SEQUENTIAL));
    }

    void remove(const Edge *edges, size_t count) {
        auto some = pairs(edges, count);
        take(graph.delete_edges_batch(count, some.data(), true, false, n, SEQUENTIAL));
    }

    /* The version before goes. */
    void take(treeplus_graph next) {
        graph.del();
        graph.set_root(next.get_root());
        next.clear_root();
    }

    void unpack(double *) {}

    bool step(const char *name, const double *x, double *y) {
        if (!strcmp(name, "map")) {
            auto add = [&](const uintV &u, const uintV &v) { y[u] += x[v]; };
            graph.map_all_edges(add);
            return true;
        }
        if (!strcmp(name, "flat")) {
            auto row = [&](size_t i) {
                double sum = 0;
                auto add = [&](const uintV &v, size_t) { sum += x[v]; };
                flat[i].map_elms(i, add);
                if (sum != 0) y[i] = sum;
            };
            parallel_for(0, flat.size(), row, 64);
            return true;
        }
        if (!strcmp(name, "prepare")) {
            flat = graph.fetch_all_vertices();
            return true;
        }
        return false;
    }
};

int main(int argc, char **argv) {
    // Aspen's prints must not mix with the answers.
    std::cout.setstate(std::ios_base::failbit);
    treeplus_graph::init(1 << 20, 1 << 22);
    return dynamic::serve<Graph>(argc, argv);
}

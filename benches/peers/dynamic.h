/* The shared part of the peers of dynamic tensors: reading entries, and answering timed requests, so that engines take turns.
 *
 * A peer is started with the path of a file of entries, in the order in which they arrive: u64 rows, u64 columns, u64 n, u32 row[n],
 * u32 column[n], f64 value[n], in the machine's byte order. No entry occurs twice. It says `ready 0`, and then answers lines:
 *
 *   load fresh       stores all entries at once, in the order of coordinates    -> milliseconds
 *   load aged        stores them one after the other, as they arrive            -> milliseconds
 *   step NAME        y(i) = A(i,j) * x(j), with x(j) = 1 + j % 7, by the way NAME to go through the matrix
 *                                                                               -> milliseconds and the sum of y
 *   insert B         with the first half stored, the others in batches of B     -> milliseconds for all of them
 *   remove B         the same taken out again                                   -> milliseconds, and how many entries are left
 *
 * `insert` and `remove` take no more than LIMIT entries. A graph defines what is used below.
 */
#ifndef LACUNAR_DYNAMIC_H
#define LACUNAR_DYNAMIC_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dynamic {

/* The most entries that are put in or taken out. */
constexpr size_t LIMIT = 1000000;

struct Edge {
    uint32_t row, column;
    double value;
};

inline bool before(const Edge &a, const Edge &b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
}

struct Entries {
    uint64_t rows, columns;
    std::vector<Edge> edges;
};

inline void read_or_exit(void *to, size_t size, size_t count, FILE *file) {
    if (fread(to, size, count, file) != count) {
        fprintf(stderr, "the file of entries is too short\n");
        exit(1);
    }
}

inline Entries read_entries(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    uint64_t head[3];
    read_or_exit(head, sizeof *head, 3, file);
    std::vector<uint32_t> rows(head[2]), columns(head[2]);
    std::vector<double> values(head[2]);
    read_or_exit(rows.data(), sizeof(uint32_t), head[2], file);
    read_or_exit(columns.data(), sizeof(uint32_t), head[2], file);
    read_or_exit(values.data(), sizeof(double), head[2], file);
    fclose(file);
    Entries entries{head[0], head[1], std::vector<Edge>(head[2])};
    for (size_t k = 0; k < head[2]; k++) entries.edges[k] = {rows[k], columns[k], values[k]};
    return entries;
}

inline double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::vector<Edge> sorted(std::vector<Edge> edges) {
    std::sort(edges.begin(), edges.end(), before);
    return edges;
}

/* Calls `each` with batches of edges, as they arrive, and gives the milliseconds that all took. */
template <class F> double in_batches(const std::vector<Edge> &edges, size_t size, const F &each) {
    double start = now_ms();
    for (size_t k = 0; k < edges.size(); k += size) each(&edges[k], std::min(size, edges.size() - k));
    return now_ms() - start;
}

/* Answers requests. `Graph` has a constructor from the numbers of rows and columns, `build(sorted edges)`, `insert(edges, n)`,
 * `remove(edges, n)`, `size()`, and `step(name, x, y)`, which is false if it knows no such way. A step may leave its result otherwise
 * stored: `unpack(y)` puts it into y, after the time is taken. */
template <class Graph> int serve(int argc, char **argv) {
    if (argc < 2) return 1;
    Entries entries = read_entries(argv[1]);
    const auto &edges = entries.edges;
    std::vector<double> x(entries.columns), y(entries.rows);
    for (size_t j = 0; j < x.size(); j++) x[j] = 1 + j % 7;
    size_t half = std::max(edges.size() / 2, edges.size() - std::min(edges.size(), LIMIT));
    std::vector<Edge> first(edges.begin(), edges.begin() + half), second(edges.begin() + half, edges.end());
    Graph *graph = new Graph(entries.rows, entries.columns);
    printf("ready 0\n");
    fflush(stdout);
    char word[32], rest[64];
    while (scanf("%31s %63s", word, rest) == 2) {
        double count = atof(rest);
        if (!strcmp(word, "load")) {
            delete graph;
            graph = new Graph(entries.rows, entries.columns);
            auto in_order = sorted(edges);
            double start = now_ms();
            if (!strcmp(rest, "fresh")) graph->build(in_order);
            else in_batches(edges, 1, [&](const Edge *some, size_t n) { graph->insert(some, n); });
            printf("%.6f %zu\n", now_ms() - start, graph->size());
        } else if (!strcmp(word, "step")) {
            std::fill(y.begin(), y.end(), 0.0);
            double start = now_ms();
            if (!graph->step(rest, x.data(), y.data())) return 1;
            double time = now_ms() - start;
            graph->unpack(y.data());
            printf("%.6f %.17g\n", time, std::accumulate(y.begin(), y.end(), 0.0));
        } else if (!strcmp(word, "insert")) {
            delete graph;
            graph = new Graph(entries.rows, entries.columns);
            graph->build(sorted(first));
            double time = in_batches(second, count, [&](const Edge *some, size_t n) { graph->insert(some, n); });
            printf("%.6f %zu\n", time, graph->size());
        } else if (!strcmp(word, "remove")) {
            double time = in_batches(second, count, [&](const Edge *some, size_t n) { graph->remove(some, n); });
            printf("%.6f %zu\n", time, graph->size());
        } else {
            return 1;
        }
        fflush(stdout);
    }
    return 0;
}

} // namespace dynamic
#endif

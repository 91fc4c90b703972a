/* Algorithms on graphs by GraphBLAS, as LAGraph's documentation and the papers describe them. A is the graph, and where it is
 * directed, its transpose is given too, as LAGraph wants it ("cached"). Values of A are not read unless they are lengths: it is
 * stored with one value for all entries.
 *
 *   bfs             levels from a node, 1 at the node itself: breadth-first search that pushes or pulls (Beamer et al. 2012; Yang et
 *                   al. 2018), which of the two LAGraph decides by the edges of the frontier
 *   sssp            lengths of shortest paths, Bellman and Ford's way: those whose length has fallen relax their edges
 *   sssp:delta-N    delta stepping (Meyer and Sanders 2003; Sridhar et al. 2019), buckets of N times the mean length
 *   pagerank        damping 0.85, until the sum of changes is at most 1e-12 or after 200 rounds; ranks of nodes without links are shared
 *   components      FastSV (Zhang et al. 2020); on dense graphs first on four links of each node, then without the largest component
 *                   found so
 *   triangle-count  the sum of C<L> = L U', nodes in order of their degrees where these are skewed (Sandia's method)
 *   ktruss          the 4-truss: C<C> = C C', and what is in fewer than 2 triangles is left out, until nothing is
 *   betweenness     Brandes 2001, from the start and the next three nodes at once
 */
#ifndef LACUNAR_GRAPHBLAS_GRAPHS_H
#define LACUNAR_GRAPHBLAS_GRAPHS_H

#include "graphblas.h"

static GrB_Matrix graph, transposed, lengths;
static GrB_Vector degrees, filled_degrees, sinks, found;
static GrB_Index nodes, links, start;
static double found_number, delta;
static int64_t *permutation_degrees;
static const int32_t *graph_pos, *graph_crd;

/* ---- breadth-first search ---- */

static int64_t links_of(GrB_Vector frontier) {
    GrB_Vector some;
    int64_t sum = 0;
    must(GrB_Vector_new(&some, GrB_INT64, nodes));
    must(GrB_Vector_assign(some, frontier, NULL, degrees, GrB_ALL, nodes, GrB_DESC_RS));
    must(GrB_Vector_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, some, NULL));
    must(GrB_Vector_free(&some));
    return sum;
}

static void breadth_first(void) {
    GrB_Vector frontier;
    must(GrB_Vector_new(&found, GrB_INT32, nodes));
    must(GrB_Vector_set_INT32(found, GxB_BITMAP, GxB_SPARSITY_CONTROL));
    must(GrB_Vector_setElement_INT32(found, 1, start));
    must(GrB_Vector_new(&frontier, GrB_BOOL, nodes));
    must(GrB_Vector_setElement_BOOL(frontier, true, start));
    int pushes = 1, pulled = 0, chooses = 1;
    GrB_Index count = 1, before = 0;
    int64_t unexplored = (int64_t)links;
    for (int32_t level = 2; count > 0; level++) {
        if (chooses && pushes) {
            int grows = count > before, turns;
            if (unexplored < (int64_t)nodes) {
                chooses = turns = 0;
            } else if (pulled) {
                turns = grows && count > nodes / 8;
            } else {
                int64_t of_frontier = links_of(frontier);
                unexplored -= of_frontier;
                turns = grows && of_frontier > unexplored / 8;
            }
            if (turns) pushes = 0, pulled = 1;
        } else if (chooses && count < before && count <= nodes / 512) {
            pushes = 1;
        }
        must(GrB_Vector_set_INT32(frontier, pushes ? GxB_SPARSE : GxB_BITMAP, GxB_SPARSITY_CONTROL));
        if (pushes) must(GrB_vxm(frontier, found, NULL, GxB_ANY_PAIR_BOOL, frontier, graph, GrB_DESC_RSC));
        else must(GrB_mxv(frontier, found, NULL, GxB_ANY_PAIR_BOOL, transposed, frontier, GrB_DESC_RSC));
        before = count;
        must(GrB_Vector_nvals(&count, frontier));
        if (count > 0) must(GrB_Vector_assign_INT32(found, frontier, NULL, level, GrB_ALL, nodes, GrB_DESC_S));
    }
    must(GrB_Vector_free(&frontier));
}

/* ---- shortest paths ---- */

/* Takes shorter lengths over: `reached` are the new ones, of which those that are not shorter are left out. */
static GrB_Index shorten(GrB_Vector reached, GrB_Vector shorter) {
    GrB_Index count;
    must(GrB_Vector_eWiseMult_BinaryOp(shorter, NULL, NULL, GrB_LT_FP64, reached, found, NULL));
    must(GrB_Vector_select_BOOL(shorter, NULL, NULL, GrB_VALUENE_BOOL, shorter, false, NULL));
    must(GrB_Vector_nvals(&count, shorter));
    if (count > 0) must(GrB_Vector_assign(found, shorter, NULL, reached, GrB_ALL, nodes, GrB_DESC_S));
    return count;
}

static GrB_Vector of_lengths(void) {
    GrB_Vector one;
    must(GrB_Vector_new(&one, GrB_FP64, nodes));
    must(GrB_Vector_setElement_FP64(one, 0.0, start));
    must(GrB_Vector_new(&found, GrB_FP64, nodes));
    must(GrB_Vector_assign_FP64(found, NULL, NULL, INFINITY, GrB_ALL, nodes, NULL));
    must(GrB_Vector_setElement_FP64(found, 0.0, start));
    return one;
}

static void bellman_ford(void) {
    GrB_Vector frontier = of_lengths(), reached, shorter;
    must(GrB_Vector_new(&reached, GrB_FP64, nodes));
    must(GrB_Vector_new(&shorter, GrB_BOOL, nodes));
    do {
        must(GrB_vxm(reached, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, frontier, lengths, NULL));
        if (shorten(reached, shorter) == 0) break;
        must(GrB_Vector_assign(frontier, shorter, NULL, reached, GrB_ALL, nodes, GrB_DESC_RS));
    } while (1);
    must(GrB_Vector_free(&frontier));
    must(GrB_Vector_free(&reached));
    must(GrB_Vector_free(&shorter));
}

static void delta_stepping(void) {
    GrB_Vector bucket = of_lengths(), waiting, reached, shorter, done;
    GrB_Matrix light, heavy;
    GrB_Index count, long_ones;
    must(GrB_Matrix_new(&light, GrB_FP64, nodes, nodes));
    must(GrB_Matrix_new(&heavy, GrB_FP64, nodes, nodes));
    must(GrB_Matrix_select_FP64(light, NULL, NULL, GrB_VALUELE_FP64, lengths, delta, NULL));
    must(GrB_Matrix_select_FP64(heavy, NULL, NULL, GrB_VALUEGT_FP64, lengths, delta, NULL));
    must(GrB_Matrix_nvals(&long_ones, heavy));
    must(GrB_Vector_new(&waiting, GrB_BOOL, nodes));
    must(GrB_Vector_new(&done, GrB_BOOL, nodes));
    must(GrB_Vector_new(&reached, GrB_FP64, nodes));
    must(GrB_Vector_new(&shorter, GrB_BOOL, nodes));
    must(GrB_Vector_setElement_BOOL(waiting, true, start));
    for (double bound = delta;; bound += delta) {
        must(GrB_Vector_assign(bucket, waiting, NULL, found, GrB_ALL, nodes, GrB_DESC_RS));
        must(GrB_Vector_nvals(&count, bucket));
        if (count == 0) break;
        must(GrB_Vector_select_FP64(bucket, NULL, NULL, GrB_VALUELT_FP64, bucket, bound, NULL));
        for (must(GrB_Vector_nvals(&count, bucket)); count > 0; must(GrB_Vector_nvals(&count, bucket))) {
            must(GrB_Vector_assign_BOOL(done, bucket, NULL, true, GrB_ALL, nodes, GrB_DESC_S));
            must(GrB_vxm(reached, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, bucket, light, NULL));
            if (shorten(reached, shorter) == 0) break;
            must(GrB_Vector_assign_BOOL(waiting, shorter, NULL, true, GrB_ALL, nodes, GrB_DESC_S));
            must(GrB_Vector_select_FP64(bucket, shorter, NULL, GrB_VALUELT_FP64, reached, bound, GrB_DESC_RS));
        }
        if (long_ones > 0) {
            must(GrB_Vector_assign(bucket, done, NULL, found, GrB_ALL, nodes, GrB_DESC_RS));
            must(GrB_vxm(reached, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, bucket, heavy, NULL));
            if (shorten(reached, shorter) > 0)
                must(GrB_Vector_assign_BOOL(waiting, shorter, NULL, true, GrB_ALL, nodes, GrB_DESC_S));
        }
        /* Nodes that are done wait no longer. */
        must(GrB_Vector_assign(waiting, done, NULL, waiting, GrB_ALL, nodes, GrB_DESC_RSC));
        must(GrB_Vector_free(&done));
        must(GrB_Vector_new(&done, GrB_BOOL, nodes));
    }
    GrB_Vector all[] = {bucket, waiting, reached, shorter, done};
    for (int k = 0; k < 5; k++) must(GrB_Vector_free(&all[k]));
    must(GrB_Matrix_free(&light));
    must(GrB_Matrix_free(&heavy));
}

/* ---- ranks ---- */

static void page_rank(void) {
    const double damping = 0.85;
    GrB_Vector ranks, old, shares, of_sinks;
    must(GrB_Vector_new(&ranks, GrB_FP64, nodes));
    must(GrB_Vector_new(&old, GrB_FP64, nodes));
    must(GrB_Vector_new(&shares, GrB_FP64, nodes));
    must(GrB_Vector_new(&of_sinks, GrB_FP64, nodes));
    must(GrB_Vector_assign_FP64(ranks, NULL, NULL, 1.0 / (double)nodes, GrB_ALL, nodes, NULL));
    GrB_Index count;
    must(GrB_Vector_nvals(&count, sinks));
    double change = 1.0;
    for (int round = 0; round < 200 && change > 1e-12; round++) {
        double given = 0.0;
        if (count > 0) {
            must(GrB_Vector_assign(of_sinks, sinks, NULL, ranks, GrB_ALL, nodes, GrB_DESC_RS));
            must(GrB_Vector_reduce_FP64(&given, NULL, GrB_PLUS_MONOID_FP64, of_sinks, NULL));
        }
        GrB_Vector swapped = old;
        old = ranks;
        ranks = swapped;
        must(GrB_Vector_eWiseMult_BinaryOp(shares, NULL, NULL, GrB_DIV_FP64, old, filled_degrees, NULL));
        must(GrB_Vector_assign_FP64(ranks, NULL, NULL, (1 - damping + damping * given) / (double)nodes, GrB_ALL, nodes, NULL));
        must(GrB_mxv(ranks, NULL, GrB_PLUS_FP64, GxB_PLUS_SECOND_FP64, transposed, shares, NULL));
        must(GrB_Vector_assign(old, NULL, GrB_MINUS_FP64, ranks, GrB_ALL, nodes, NULL));
        must(GrB_Vector_apply(old, NULL, NULL, GrB_ABS_FP64, old, NULL));
        must(GrB_Vector_reduce_FP64(&change, NULL, GrB_PLUS_MONOID_FP64, old, NULL));
    }
    found = ranks;
    must(GrB_Vector_free(&old));
    must(GrB_Vector_free(&shares));
    must(GrB_Vector_free(&of_sinks));
}

/* ---- connected components ---- */

/* FastSV on some links: parents get the least number among the neighbors' grandparents, until none changes. */
static void merge_components(GrB_Matrix some, int64_t *parent) {
    GrB_Vector grand, least;
    int64_t *of_grand = (int64_t *)malloc(8 * nodes), *of_least = (int64_t *)malloc(8 * nodes);
    must(GrB_Vector_new(&grand, GrB_INT64, nodes));
    must(GrB_Vector_new(&least, GrB_INT64, nodes));
    #pragma omp parallel for
    for (GrB_Index i = 0; i < nodes; i++) of_grand[i] = of_least[i] = parent[i];
    must(GxB_Vector_pack_Full(least, (void **)&of_least, 8 * nodes, false, NULL));
    for (int changes = 1; changes;) {
        GrB_Index bytes;
        bool iso;
        must(GxB_Vector_pack_Full(grand, (void **)&of_grand, 8 * nodes, false, NULL));
        must(GrB_mxv(least, NULL, GrB_MIN_INT64, GrB_MIN_SECOND_SEMIRING_INT64, some, grand, NULL));
        must(GxB_Vector_unpack_Full(least, (void **)&of_least, &bytes, &iso, NULL));
        must(GxB_Vector_unpack_Full(grand, (void **)&of_grand, &bytes, &iso, NULL));
        changes = 0;
        for (GrB_Index i = 0; i < nodes; i++)
            if (of_least[i] < parent[parent[i]]) parent[parent[i]] = of_least[i];
        #pragma omp parallel for
        for (GrB_Index i = 0; i < nodes; i++) {
            int64_t least_of = of_least[i] < of_grand[i] ? of_least[i] : of_grand[i];
            if (least_of < parent[i]) parent[i] = least_of;
        }
        #pragma omp parallel for reduction(| : changes)
        for (GrB_Index i = 0; i < nodes; i++) {
            int64_t now = parent[parent[i]];
            changes |= now != of_grand[i];
            of_grand[i] = now;
        }
        must(GxB_Vector_pack_Full(least, (void **)&of_least, 8 * nodes, false, NULL));
    }
    free(of_grand);
    must(GrB_Vector_free(&grand));
    must(GrB_Vector_free(&least));
}

/* The matrix of some links, given by rows. */
static GrB_Matrix of_links(const GrB_Index *pos, const GrB_Index *crd) {
    GrB_Matrix some, of_ones;
    double *ones = (double *)malloc(8 * (pos[nodes] + 1));
    for (GrB_Index p = 0; p < pos[nodes]; p++) ones[p] = 1.0;
    must(GrB_Matrix_import_FP64(&of_ones, GrB_FP64, nodes, nodes, pos, crd, ones, nodes + 1, pos[nodes], pos[nodes], GrB_CSR_FORMAT));
    must(GrB_Matrix_new(&some, GrB_BOOL, nodes, nodes));
    must(GrB_Matrix_apply(some, NULL, NULL, GxB_ONE_BOOL, of_ones, NULL));
    must(GrB_Matrix_free(&of_ones));
    free(ones);
    return some;
}

/* The label that most nodes of a sample have. */
static int64_t most_frequent(const int64_t *parent) {
    enum { SAMPLES = 864 };
    int64_t best = 0;
    int most = 0;
    for (int k = 0; k < SAMPLES; k++) {
        int64_t label = parent[(GrB_Index)k * 2654435761u % nodes];
        int count = 0;
        for (int l = 0; l < SAMPLES; l++) count += parent[(GrB_Index)l * 2654435761u % nodes] == label;
        if (count > most) most = count, best = label;
    }
    return best;
}

static void connected_components(void) {
    enum { LINKS = 4 };
    int64_t *parent = (int64_t *)malloc(8 * nodes);
    for (GrB_Index i = 0; i < nodes; i++) parent[i] = (int64_t)i;
    if (links > nodes * LINKS * 2 && nodes > 1024) {
        GrB_Index *pos = (GrB_Index *)malloc(8 * (nodes + 1)), *crd = (GrB_Index *)malloc(8 * (links + nodes)), p = 0;
        for (GrB_Index i = 0; i < nodes; i++) {
            pos[i] = p;
            for (int32_t k = graph_pos[i]; k < graph_pos[i + 1] && k < graph_pos[i] + LINKS; k++) crd[p++] = (GrB_Index)graph_crd[k];
        }
        pos[nodes] = p;
        GrB_Matrix some = of_links(pos, crd);
        merge_components(some, parent);
        must(GrB_Matrix_free(&some));
        int64_t largest = most_frequent(parent);
        p = 0;
        for (GrB_Index i = 0; i < nodes; i++) {
            pos[i] = p;
            if (parent[i] == largest) continue;
            int left = 0;
            for (int32_t k = graph_pos[i]; k < graph_pos[i + 1]; k++) {
                if (parent[graph_crd[k]] == largest) left = 1;
                else crd[p++] = (GrB_Index)graph_crd[k];
            }
            if (left) crd[p++] = (GrB_Index)largest;
        }
        pos[nodes] = p;
        some = of_links(pos, crd);
        merge_components(some, parent);
        must(GrB_Matrix_free(&some));
        free(pos);
        free(crd);
    } else {
        merge_components(graph, parent);
    }
    must(GrB_Vector_new(&found, GrB_INT64, nodes));
    must(GxB_Vector_pack_Full(found, (void **)&parent, 8 * nodes, false, NULL));
}

/* ---- triangles, trusses ---- */

static int by_degree(const void *a, const void *b) {
    int64_t left = permutation_degrees[*(const GrB_Index *)a], right = permutation_degrees[*(const GrB_Index *)b];
    return left < right ? -1 : left > right;
}

static int ascending(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* True if the mean of sampled degrees is above four times their median. */
static int is_skewed(void) {
    enum { SAMPLES = 1000 };
    int64_t sample[SAMPLES];
    double sum = 0;
    for (int k = 0; k < SAMPLES; k++) {
        sample[k] = permutation_degrees[(GrB_Index)k * 2654435761u % nodes];
        sum += (double)sample[k];
    }
    qsort(sample, SAMPLES, sizeof *sample, ascending);
    return nodes > SAMPLES && links / nodes >= 10 && sum / SAMPLES > 4 * (double)sample[SAMPLES / 2];
}

static void triangle_count(void) {
    GrB_Matrix sorted = graph, lower, upper, made;
    if (is_skewed()) {
        GrB_Index *order = (GrB_Index *)malloc(8 * nodes);
        for (GrB_Index i = 0; i < nodes; i++) order[i] = i;
        qsort(order, nodes, sizeof *order, by_degree);
        must(GrB_Matrix_new(&sorted, GrB_BOOL, nodes, nodes));
        must(GrB_Matrix_extract(sorted, NULL, NULL, graph, order, nodes, order, nodes, NULL));
        free(order);
    }
    must(GrB_Matrix_new(&lower, GrB_BOOL, nodes, nodes));
    must(GrB_Matrix_new(&upper, GrB_BOOL, nodes, nodes));
    must(GrB_Matrix_new(&made, GrB_INT64, nodes, nodes));
    must(GrB_Matrix_select_INT64(lower, NULL, NULL, GrB_TRIL, sorted, -1, NULL));
    must(GrB_Matrix_select_INT64(upper, NULL, NULL, GrB_TRIU, sorted, 1, NULL));
    must(GrB_mxm(made, lower, NULL, GxB_PLUS_PAIR_INT64, lower, upper, GrB_DESC_ST1));
    int64_t sum = 0;
    must(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, made, NULL));
    found_number = (double)sum;
    must(GrB_Matrix_free(&lower));
    must(GrB_Matrix_free(&upper));
    must(GrB_Matrix_free(&made));
    if (sorted != graph) must(GrB_Matrix_free(&sorted));
}

static void truss(void) {
    GrB_Matrix left = graph, next;
    GrB_Index before, count;
    must(GrB_Matrix_nvals(&count, graph));
    do {
        before = count;
        must(GrB_Matrix_new(&next, GrB_INT64, nodes, nodes));
        must(GrB_mxm(next, left, NULL, GxB_PLUS_PAIR_INT64, left, left, GrB_DESC_ST1));
        must(GrB_Matrix_select_INT64(next, NULL, NULL, GrB_VALUEGE_INT64, next, 2, NULL));
        must(GrB_Matrix_nvals(&count, next));
        if (left != graph) must(GrB_Matrix_free(&left));
        left = next;
    } while (count < before);
    found_number = (double)count;
    must(GrB_Matrix_free(&left));
}

/* ---- betweenness ---- */

static void between(void) {
    enum { BATCH = 4, MOST = 4096 };
    static GrB_Matrix levels[MOST];
    GrB_Matrix frontier, paths, update, share;
    must(GrB_Matrix_new(&frontier, GrB_FP64, BATCH, nodes));
    must(GrB_Matrix_new(&paths, GrB_FP64, BATCH, nodes));
    for (GrB_Index k = 0; k < BATCH; k++) {
        must(GrB_Matrix_setElement_FP64(frontier, 1.0, k, (start + k) % nodes));
        must(GrB_Matrix_setElement_FP64(paths, 1.0, k, (start + k) % nodes));
    }
    int depth = 0;
    for (GrB_Index count = 1; count > 0 && depth < MOST; must(GrB_Matrix_nvals(&count, frontier))) {
        must(GrB_Matrix_new(&levels[depth], GrB_BOOL, BATCH, nodes));
        must(GrB_Matrix_apply(levels[depth++], NULL, NULL, GxB_ONE_BOOL, frontier, NULL));
        must(GrB_mxm(frontier, paths, NULL, GxB_PLUS_FIRST_FP64, frontier, graph, GrB_DESC_RSC));
        must(GrB_Matrix_eWiseAdd_BinaryOp(paths, NULL, NULL, GrB_PLUS_FP64, paths, frontier, NULL));
    }
    must(GrB_Matrix_new(&update, GrB_FP64, BATCH, nodes));
    must(GrB_Matrix_assign_FP64(update, NULL, NULL, 1.0, GrB_ALL, BATCH, GrB_ALL, nodes, NULL));
    must(GrB_Matrix_new(&share, GrB_FP64, BATCH, nodes));
    for (int level = depth - 1; level > 0; level--) {
        must(GrB_Matrix_eWiseMult_BinaryOp(share, levels[level], NULL, GrB_DIV_FP64, update, paths, GrB_DESC_RS));
        must(GrB_mxm(share, levels[level - 1], NULL, GxB_PLUS_FIRST_FP64, share, transposed, GrB_DESC_RS));
        must(GrB_Matrix_eWiseMult_BinaryOp(update, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, share, paths, NULL));
    }
    for (int level = 0; level < depth; level++) must(GrB_Matrix_free(&levels[level]));
    must(GrB_Vector_new(&found, GrB_FP64, nodes));
    must(GrB_Vector_assign_FP64(found, NULL, NULL, -(double)BATCH, GrB_ALL, nodes, NULL));
    GrB_Matrix columns;
    must(GrB_Matrix_new(&columns, GrB_FP64, nodes, BATCH));
    must(GrB_transpose(columns, NULL, NULL, update, NULL));
    must(GrB_Matrix_reduce_Monoid(found, NULL, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, columns, NULL));
    must(GrB_Matrix_free(&columns));
    must(GrB_Matrix_free(&frontier));
    must(GrB_Matrix_free(&paths));
    must(GrB_Matrix_free(&update));
    must(GrB_Matrix_free(&share));
}

/* ---- what the program asks ---- */

/* The algorithm of a kernel's name; NULL if it is of another kind. */
static void (*graph_search(const char *kernel))(void) {
    if (is_kernel(kernel, "bfs")) return breadth_first;
    if (is_kernel(kernel, "sssp")) return strstr(kernel, ":delta-") ? delta_stepping : bellman_ford;
    if (is_kernel(kernel, "pagerank")) return page_rank;
    if (is_kernel(kernel, "components")) return connected_components;
    if (is_kernel(kernel, "triangle-count")) return triangle_count;
    if (is_kernel(kernel, "ktruss")) return truss;
    if (is_kernel(kernel, "betweenness")) return between;
    return NULL;
}

/* The data that LAGraph keeps with a graph: its pattern, its transpose, the degrees. */
static void prepare_graph(const peer_tensor *t, int count, GrB_Matrix *inputs, const char *kernel) {
    nodes = (GrB_Index)t[1].dims[0];
    links = (GrB_Index)t[1].values;
    graph_pos = t[1].levels[1].pos;
    graph_crd = t[1].levels[1].crd;
    lengths = inputs[1];
    must(GrB_Matrix_new(&graph, GrB_BOOL, nodes, nodes));
    must(GrB_Matrix_apply(graph, NULL, NULL, GxB_ONE_BOOL, inputs[1], NULL));
    must(GrB_Matrix_wait(graph, GrB_MATERIALIZE));
    transposed = graph;
    if (count > 2 && t[2].order == 2) {
        must(GrB_Matrix_new(&transposed, GrB_BOOL, nodes, nodes));
        must(GrB_Matrix_apply(transposed, NULL, NULL, GxB_ONE_BOOL, inputs[2], NULL));
        must(GrB_Matrix_wait(transposed, GrB_MATERIALIZE));
    }
    permutation_degrees = (int64_t *)allocate(8 * nodes);
    must(GrB_Vector_new(&degrees, GrB_INT64, nodes));
    must(GrB_Vector_new(&filled_degrees, GrB_FP64, nodes));
    must(GrB_Vector_new(&sinks, GrB_BOOL, nodes));
    for (GrB_Index i = 0; i < nodes; i++) {
        int32_t degree = graph_pos[i + 1] - graph_pos[i];
        permutation_degrees[i] = degree;
        if (degree == 0) {
            must(GrB_Vector_setElement_BOOL(sinks, true, i));
            continue;
        }
        must(GrB_Vector_setElement_INT32(degrees, degree, i));
        must(GrB_Vector_setElement_FP64(filled_degrees, degree / 0.85, i));
    }
    must(GrB_Vector_wait(degrees, GrB_MATERIALIZE));
    must(GrB_Vector_wait(filled_degrees, GrB_MATERIALIZE));
    must(GrB_Vector_wait(sinks, GrB_MATERIALIZE));
    const char *steps = strstr(kernel, ":delta-");
    double sum = 0;
    for (int64_t p = 0; p < t[1].values; p++) sum += t[1].vals[p];
    if (steps) delta = atof(steps + 7) * sum / (double)(links ? links : 1);
}

#endif

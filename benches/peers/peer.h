/* The shared part of all peer programs: reading its tensors, and answering timed requests, so that engines take turns.
 *
 * A peer is started with the path of a file of tensors, the result first (shape only), then the inputs in the order of
 * the expression, and the name of a kernel: `spmv`, or `spmv:inspected` for another way to compute the same. It says
 *
 *   ready 12.5                                    and how many milliseconds an inspection of the inputs took, if any
 *
 * and then answers lines on standard input, until they end:
 *
 *   run 3      computes three times            -> "0.81 0.79 0.80", milliseconds each
 *   check      computes once more              -> "4 12.5 12.5 9.5", the number of stored values, their sum, the sum of
 *                                                 their magnitudes, and a sum weighted by coordinates (see `weight`)
 *
 * The number of threads is in the environment (OMP_NUM_THREADS and the like). All numbers in the file are in the
 * machine's byte order:
 *
 *   "LACUNAR3", u64 number of tensors; of each tensor:
 *     u64 order, u64 sizes[order], u64 number of levels
 *     of each level: u64 kind (0 dense, 1 compressed, 2 singleton), u64 dimension,
 *       u64 block: the size of the blocks, where the level stores a block's number or the place inside; else 0
 *       if compressed: u64 n, i32 pos[n]; if compressed or singleton: u64 m, i32 crd[m]
 *     u64 n, f64 values[n]; of the result only n, which is 0 where it is to be assembled
 *
 * A level that stores a diagonal's number has the dimension that the number is of; only results have such levels.
 */
#ifndef LACUNAR_PEER_H
#define LACUNAR_PEER_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ORDER 8
#define MAX_LEVELS 16
#define MAX_TENSORS 8

enum { LEVEL_DENSE, LEVEL_COMPRESSED, LEVEL_SINGLETON };

typedef struct {
    int kind;
    int32_t block;
    int64_t positions, coordinates;
    int32_t *pos, *crd;
} peer_level;

typedef struct {
    int order, depth;
    int32_t dims[MAX_ORDER], mode_order[MAX_LEVELS];
    peer_level levels[MAX_LEVELS];
    int64_t values;
    double *vals;
} peer_tensor;

/* The functions that a peer program defines. `prepare` may take the tensors' arrays as its own and sets `inspection_ms`
 * if it analyzes them; `compute` makes the result; `report` gives each of its stored values to `stored`, and `release`
 * frees the memory that one `compute` allocated. */
static void prepare(peer_tensor *tensors, int count, const char *kernel);
static void compute(void);
static void report(void);
static void release(void);

static double inspection_ms;

static void fail(const char *message) {
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* True if the kernel is `base`, or `base` in some variant. */
static int is_kernel(const char *kernel, const char *base) {
    size_t length = strlen(base);
    return strncmp(kernel, base, length) == 0 && (kernel[length] == 0 || kernel[length] == ':');
}

/* True if the kernel's name ends in `:variant`. */
static int is_variant(const char *kernel, const char *variant) {
    const char *colon = strchr(kernel, ':');
    return colon && strcmp(colon + 1, variant) == 0;
}

/* ---- the file of tensors ---- */

static void read_bytes(FILE *file, void *into, size_t bytes) {
    if (fread(into, 1, bytes, file) != bytes) fail("the file of tensors is too short");
}

static uint64_t read_number(FILE *file) {
    uint64_t number;
    read_bytes(file, &number, sizeof number);
    return number;
}

static void *allocate(size_t bytes) {
    void *array = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!array) fail("out of memory");
    return array;
}

static void *read_array(FILE *file, size_t element, int64_t *count) {
    *count = (int64_t)read_number(file);
    void *array = allocate(element * (size_t)*count);
    read_bytes(file, array, element * (size_t)*count);
    return array;
}

static void read_tensor(FILE *file, peer_tensor *tensor, int is_result) {
    tensor->order = (int)read_number(file);
    if (tensor->order > MAX_ORDER) fail("a tensor of too many dimensions");
    for (int d = 0; d < tensor->order; d++) tensor->dims[d] = (int32_t)read_number(file);
    tensor->depth = (int)read_number(file);
    if (tensor->depth > MAX_LEVELS) fail("a tensor of too many levels");
    for (int l = 0; l < tensor->depth; l++) {
        peer_level *level = &tensor->levels[l];
        level->kind = (int)read_number(file);
        tensor->mode_order[l] = (int32_t)read_number(file);
        level->block = (int32_t)read_number(file);
        if (level->kind == LEVEL_COMPRESSED)
            level->pos = (int32_t *)read_array(file, sizeof(int32_t), &level->positions);
        if (level->kind != LEVEL_DENSE)
            level->crd = (int32_t *)read_array(file, sizeof(int32_t), &level->coordinates);
    }
    if (!is_result) {
        tensor->vals = (double *)read_array(file, sizeof(double), &tensor->values);
        return;
    }
    tensor->values = (int64_t)read_number(file);
    tensor->vals = (double *)allocate(sizeof(double) * (size_t)tensor->values);
    memset(tensor->vals, 0, sizeof(double) * (size_t)tensor->values);
}

/* ---- what came out ---- */

static struct {
    int64_t count;
    double sum, magnitude, placed;
} seen;

/* The weight of a value at these coordinates, in order of the dimensions, in the weighted sum. */
static double weight(const int64_t *coordinates, int order) {
    static const int64_t factors[MAX_ORDER] = {1, 31, 577, 97, 211, 401, 13, 7};
    int64_t sum = 0;
    for (int d = 0; d < order; d++) sum += (coordinates[d] + 1) * factors[d];
    return (double)(sum % 1009) / 1009;
}

/* Takes note of one stored value; infinite ones stand for what is not there. */
static void stored(double value, const int64_t *coordinates, int order) {
    if (isinf(value)) return;
    seen.count++;
    seen.sum += value;
    seen.magnitude += fabs(value);
    seen.placed += value * weight(coordinates, order);
}

/* Reports a tensor of dense and compressed levels, each of a dimension: the part below a position of a level. */
static inline void report_level(const peer_tensor *tensor, int level, int64_t position, int64_t *coordinates) {
    if (level == tensor->depth) {
        stored(tensor->vals[position], coordinates, tensor->order);
        return;
    }
    int dimension = tensor->mode_order[level];
    const peer_level *arrays = &tensor->levels[level];
    int compressed = arrays->kind == LEVEL_COMPRESSED;
    int64_t begin = compressed ? arrays->pos[position] : 0;
    int64_t end = compressed ? arrays->pos[position + 1] : tensor->dims[dimension];
    for (int64_t p = begin; p < end; p++) {
        coordinates[dimension] = compressed ? arrays->crd[p] : p;
        report_level(tensor, level + 1, compressed ? p : position * end + p, coordinates);
    }
}

/* Reports all values of a tensor. */
static inline void report_tensor(const peer_tensor *tensor) {
    int64_t coordinates[MAX_ORDER];
    report_level(tensor, 0, 0, coordinates);
}

/* Reports a matrix of compressed rows, which begin at `begin[row]` and end before `end[row]`; of compressed columns, where
 * it is `transposed`. */
static inline void report_rows(int64_t rows, const int32_t *begin, const int32_t *end, const int32_t *crd,
                               const double *vals, int transposed) {
    for (int64_t row = 0; row < rows; row++)
        for (int64_t p = begin[row]; p < end[row]; p++) {
            int64_t coordinates[2] = {transposed ? crd[p] : row, transposed ? row : crd[p]};
            stored(vals[p], coordinates, 2);
        }
}

/* Reports a matrix of square blocks of `size` rows, stored by rows; those of a row of blocks begin at `begin[row]` and end
 * before `end[row]`. */
static inline void report_blocks(int64_t rows, int64_t size, const int32_t *begin, const int32_t *end, const int32_t *crd,
                                 const double *vals) {
    for (int64_t row = 0; row < rows; row++)
        for (int64_t p = begin[row]; p < end[row]; p++)
            for (int64_t inside = 0; inside < size * size; inside++) {
                int64_t coordinates[2] = {row * size + inside / size, crd[p] * size + inside % size};
                stored(vals[p * size * size + inside], coordinates, 2);
            }
}

/* ---- requests ---- */

static void answer_check(void) {
    compute();
    memset(&seen, 0, sizeof seen);
    report();
    release();
    printf("%lld %.17g %.17g %.17g\n", (long long)seen.count, seen.sum, seen.magnitude, seen.placed);
}

int main(int argc, char **argv) {
    static peer_tensor tensors[MAX_TENSORS];
    char line[64], magic[8];
    if (argc != 3) fail("usage: PEER FILE KERNEL");
    FILE *file = fopen(argv[1], "rb");
    if (!file) fail("the file of tensors can't be opened");
    read_bytes(file, magic, sizeof magic);
    if (memcmp(magic, "LACUNAR3", sizeof magic) != 0) fail("this is no file of tensors");
    uint64_t count = read_number(file);
    if (count > MAX_TENSORS) fail("too many tensors");
    for (uint64_t t = 0; t < count; t++) read_tensor(file, &tensors[t], t == 0);
    fclose(file);
    prepare(tensors, (int)count, argv[2]);
    printf("ready %.6f\n", inspection_ms);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int runs;
        if (sscanf(line, "run %d", &runs) == 1) {
            for (int run = 0; run < runs; run++) {
                double start = now_ms();
                compute();
                printf("%.6f ", now_ms() - start);
                release();
            }
            puts("");
        } else if (strcmp(line, "check\n") == 0) {
            answer_check();
        } else {
            fail("an unknown request");
        }
        fflush(stdout);
    }
    return 0;
}

#endif

/* What every peer program shares: reading its tensors, and answering timed requests, so that engines take turns.
 *
 * A peer is started with the path of a file of tensors, the result first (shape only), then the inputs in the order of
 * the expression. It answers lines on standard input:
 *
 *   run 3      computes three times            -> "0.81 0.79 0.80", milliseconds each
 *   check      computes once more              -> "4 12.5 12.5 9.5", the number of values, their sum, the sum of their
 *                                                 magnitudes, and a sum in which the place of a value matters
 *
 * and ends with its input. All numbers in the file are in the machine's byte order:
 *
 *   "LACUNAR1", u64 number of tensors; of each tensor:
 *     u64 order, u64 sizes[order], u64 mode order[order]
 *     of each level: u64 kind (0 dense, 1 compressed); if compressed: u64 n, i32 pos[n], u64 m, i32 crd[m]
 *     u64 n, f64 values[n]
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
#define MAX_TENSORS 8

typedef struct {
    int compressed;
    int64_t positions, coordinates;
    int32_t *pos, *crd;
} peer_level;

typedef struct {
    int order;
    int32_t dims[MAX_ORDER], mode_order[MAX_ORDER];
    peer_level levels[MAX_ORDER];
    int64_t values;
    double *vals;
} peer_tensor;

/* What a peer program defines. `compute` makes the result, `result` shows its values, `release` frees what one
 * `compute` allocated. */
static void prepare(peer_tensor *tensors, int count, const char *kernel);
static void compute(void);
static const double *result(int64_t *count);
static void release(void);

static void fail(const char *message) {
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void read_bytes(FILE *file, void *into, size_t bytes) {
    if (fread(into, 1, bytes, file) != bytes) fail("the file of tensors is too short");
}

static uint64_t read_number(FILE *file) {
    uint64_t number;
    read_bytes(file, &number, sizeof number);
    return number;
}

static void *read_array(FILE *file, size_t element, int64_t *count) {
    *count = (int64_t)read_number(file);
    size_t bytes = element * (size_t)*count;
    void *array = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!array) fail("out of memory");
    read_bytes(file, array, bytes);
    return array;
}

static void read_tensor(FILE *file, peer_tensor *tensor) {
    tensor->order = (int)read_number(file);
    if (tensor->order > MAX_ORDER) fail("a tensor of too many dimensions");
    for (int d = 0; d < tensor->order; d++) tensor->dims[d] = (int32_t)read_number(file);
    for (int l = 0; l < tensor->order; l++) tensor->mode_order[l] = (int32_t)read_number(file);
    for (int l = 0; l < tensor->order; l++) {
        peer_level *level = &tensor->levels[l];
        level->compressed = (int)read_number(file);
        if (level->compressed) {
            level->pos = (int32_t *)read_array(file, sizeof(int32_t), &level->positions);
            level->crd = (int32_t *)read_array(file, sizeof(int32_t), &level->coordinates);
        }
    }
    tensor->vals = (double *)read_array(file, sizeof(double), &tensor->values);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void answer_check(void) {
    compute();
    int64_t count;
    const double *vals = result(&count);
    double sum = 0, magnitude = 0, placed = 0;
    for (int64_t p = 0; p < count; p++) {
        sum += vals[p];
        magnitude += fabs(vals[p]);
        placed += vals[p] * (double)(p % 1009) / 1009;
    }
    release();
    printf("%lld %.17g %.17g %.17g\n", (long long)count, sum, magnitude, placed);
}

int main(int argc, char **argv) {
    static peer_tensor tensors[MAX_TENSORS];
    char line[64], magic[8];
    if (argc != 3) fail("usage: PEER FILE KERNEL");
    FILE *file = fopen(argv[1], "rb");
    if (!file) fail("the file of tensors can't be opened");
    read_bytes(file, magic, sizeof magic);
    if (memcmp(magic, "LACUNAR1", sizeof magic) != 0) fail("this is no file of tensors");
    uint64_t count = read_number(file);
    if (count > MAX_TENSORS) fail("too many tensors");
    for (uint64_t t = 0; t < count; t++) read_tensor(file, &tensors[t]);
    fclose(file);
    prepare(tensors, (int)count, argv[2]);
    puts("ready");
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

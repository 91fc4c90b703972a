/* The limits of the machine with some number of threads: the speeds of reading and streaming, by the number of bytes
 * touched, and the number of multiplications and additions in a second.
 *
 * Prints lines `read BYTES GB_PER_S` (a sum), `triad BYTES GB_PER_S` (a = b + 3c) and `peak 0 GFLOP_PER_S` (fused
 * multiply-adds of the widest vectors the compiler knows for this machine), each the best of several passes. All threads
 * together touch so many bytes. Built so that sums may be reassociated. The largest size, in MiB, is the only
 * argument; OMP_NUM_THREADS is the number of threads.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef double vector __attribute__((vector_size(WIDTH)));

/* Enough independent sums to keep the multipliers busy, few enough for the registers. */
#define SUMS 12
#define STEPS 20000000L

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink;

static void read_pass(double *a, size_t n) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (size_t k = 0; k < n; k++) sum += a[k];
    sink = sum;
}

static void triad_pass(double *restrict a, size_t n) {
    size_t third = n / 3;
    const double *b = a + third, *c = b + third;
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < third; k++) a[k] = b[k] + 3 * c[k];
}

static void measure(const char *what, void (*pass)(double *, size_t), double *a, size_t bytes) {
    size_t passes = 3 + ((size_t)64 << 20) / bytes;
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start = now();
        for (size_t k = 0; k < passes; k++) pass(a, bytes / sizeof *a);
        double took = (now() - start) / (double)passes;
        if (took < best) best = took;
    }
    printf("%s %zu %.3f\n", what, bytes, 1e-9 * (double)bytes / best);
}

static double multiply_add(double factor) {
    vector sums[SUMS], scale, step;
    for (int k = 0; k < SUMS; k++) sums[k] = (vector){0} + k;
    scale = (vector){0} + factor;
    step = (vector){0} + 1e-9;
    for (long n = 0; n < STEPS; n++) {
#pragma GCC unroll 12
        for (int k = 0; k < SUMS; k++) sums[k] = sums[k] * scale + step;
    }
    double total = 0;
    for (int k = 0; k < SUMS; k++)
        for (size_t lane = 0; lane < WIDTH / sizeof(double); lane++) total += sums[k][lane];
    return total;
}

static void measure_peak(void) {
    static volatile double factor = 0.999999;
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
        double total = 0, start = now();
#pragma omp parallel reduction(+ : total)
        total += multiply_add(factor);
        sink = total;
        double took = now() - start;
        if (took < best) best = took;
    }
    double operations = 2.0 * SUMS * STEPS * (WIDTH / sizeof(double)) * omp_get_max_threads();
    printf("peak 0 %.3f\n", 1e-9 * operations / best);
}

int main(int argc, char **argv) {
    size_t largest = (size_t)(argc > 1 ? atol(argv[1]) : 1024) << 20;
    double *a = aligned_alloc(1 << 21, largest);
    if (!a) return 1;
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < largest / sizeof *a; k++) a[k] = (double)(k % 10);
    for (size_t bytes = (size_t)1 << 18; bytes < largest; bytes *= 4) measure("read", read_pass, a, bytes);
    measure("read", read_pass, a, largest);
    measure("triad", triad_pass, a, largest);
    free(a);
    measure_peak();
    return 0;
}

/* How fast the machine reads and streams, by the number of bytes touched.
 *
 * Prints lines `read BYTES GB_PER_S` (a sum) and `triad BYTES GB_PER_S` (a = b + 3c), each the best of several passes.
 * Built so that sums may be reassociated. The largest size is in MiB, the only argument.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink;

static void read_pass(double *a, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += a[k];
    sink = sum;
}

static void triad_pass(double *restrict a, size_t n) {
    size_t third = n / 3;
    const double *b = a + third, *c = b + third;
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

int main(int argc, char **argv) {
    size_t largest = (size_t)(argc > 1 ? atol(argv[1]) : 1024) << 20;
    double *a = aligned_alloc(1 << 21, largest);
    if (!a) return 1;
    for (size_t k = 0; k < largest / sizeof *a; k++) a[k] = (double)(k % 10);
    for (size_t bytes = (size_t)1 << 18; bytes < largest; bytes *= 4) measure("read", read_pass, a, bytes);
    measure("read", read_pass, a, largest);
    measure("triad", triad_pass, a, largest);
    free(a);
    return 0;
}

/* Packed tensors by hand: the loops that a programmer writes over the unique elements, stored row by row.
 *
 * Started with a size and the name of a kernel (`benches/src/structures/table.rs`). It says `ready 0`, and answers `step COUNT` with the
 * milliseconds of a run, the mean of so many, and the sum of the values that the result stores. The value at place p of an input is
 * (1 + p mod 13) / 16. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t n;
static double *a, *b, *c, *r;
static int64_t count;

static double *filled(int64_t size) {
    double *made = malloc(sizeof(double) * (size_t)(size > 0 ? size : 1));
    for (int64_t p = 0; p < size; p++) made[p] = (double)(1 + p % 13) / 16.0;
    return made;
}

/* The number of coordinates of an order that do not descend. */
static int64_t simplex(int order) {
    int64_t product = 1;
    for (int k = 0; k < order; k++) product = product * (n + k) / (k + 1);
    return product;
}

static void symmv(void) {
    const double *restrict row = a;
    memset(r, 0, sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n; row += n - i, i++) {
        const double x = b[i];
        double sum = row[0] * x;
        double *restrict y = r + i;
        const double *restrict v = b + i;
        for (int64_t j = 1; j < n - i; j++) {
            sum += row[j] * v[j];
            y[j] += row[j] * x;
        }
        y[0] += sum;
    }
}

static void trimv(void) {
    const double *restrict row = a;
    for (int64_t i = 0; i < n; row += i + 1, i++) {
        double sum = 0;
        for (int64_t j = 0; j <= i; j++) sum += row[j] * b[j];
        r[i] = sum;
    }
}

/* The upper triangle of the covariances of the columns of a whole matrix. */
static void covariance(const double *restrict rows) {
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t t = 0; t < n; t++) {
        const double *restrict x = rows + t * n;
        double *restrict row = r;
        for (int64_t i = 0; i < n; row += n - i, i++) {
            const double own = x[i];
            for (int64_t j = i; j < n; j++) row[j - i] += own * x[j];
        }
    }
}

static void cov(void) { covariance(a); }

static void lrc(void) {
    double *restrict row = r;
    for (int64_t i = 0; i < n; row += n - i, i++)
        for (int64_t j = i; j < n; j++) row[j - i] = a[i] * a[j];
}

static void sums_of_two(void) {
    double *restrict to = r;
    for (int64_t p = 0; p < count; p++) to[p] = a[p] + b[p];
}

static void pr2c(void) {
    double *restrict to = r;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            for (int64_t k = j; k < n; k++) {
                const double outer = a[i] * a[j] * a[k];
                for (int64_t l = k; l < n; l++) to[l - k] = outer * a[l];
                to += n - k;
            }
}

static void pr3c(void) {
    double *restrict to = r;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            for (int64_t k = j; k < n; k++)
                for (int64_t l = k; l < n; l++)
                    for (int64_t m = l; m < n; m++) {
                        const double outer = a[i] * a[j] * a[k] * a[l] * a[m];
                        for (int64_t o = m; o < n; o++) *to++ = outer * a[o];
                    }
}

static void ttm_diagonal(void) {
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = r + (i * n + i) * n;
        for (int64_t k = 0; k < n; k++) {
            const double own = a[i * n + k];
            const double *restrict x = b + k * n;
            for (int64_t l = 0; l < n; l++) row[l] += own * x[l];
        }
    }
}

static void ttm_half(void) {
    const double *restrict from = a;
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double *restrict row = r + (i * n + j) * n;
            for (int64_t k = j; k < n; k++) {
                const double own = *from++;
                const double *restrict x = b + k * n;
                for (int64_t l = 0; l < n; l++) row[l] += own * x[l];
            }
        }
}

static void ttm_fixed(void) {
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = r + (i * n + 3) * n;
        for (int64_t k = 0; k < n; k++) {
            const double own = a[i * n + k];
            const double *restrict x = b + k * n;
            for (int64_t l = 0; l < n; l++) row[l] += own * x[l];
        }
    }
}

static void thp_diagonal(void) {
    for (int64_t i = 0; i < n; i++) r[i] = a[i] * b[(i * n + i) * n + i];
}

static void thp_fixed_j(void) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) r[i * n + k] = a[i * n + k] * b[(i * n + 3) * n + k];
}

static void thp_fixed_i(void) {
    const double *restrict x = b + 3 * n * n;
    double *restrict to = r;
    for (int64_t p = 0; p < n * n; p++) to[p] = a[p] * x[p];
}

static void mttkrp_row(double *restrict to, const double *restrict from, const double *restrict at_j, double *restrict sums) {
    for (int64_t l = 0; l < n; l++) sums[l] = 0;
    for (int64_t k = 0; k < n; k++) {
        const double own = from[k];
        const double *restrict x = c + k * n;
        for (int64_t l = 0; l < n; l++) sums[l] += own * x[l];
    }
    for (int64_t l = 0; l < n; l++) to[l] += sums[l] * at_j[l];
}

static double *spare;

static void mttkrp_fixed_i(void) {
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t j = 0; j < n; j++) mttkrp_row(r + 3 * n, a + j * n, b + j * n, spare);
}

static void mttkrp_fixed_ij(void) {
    memset(r, 0, sizeof(double) * (size_t)count);
    mttkrp_row(r + 3 * n, a, b + 3 * n, spare);
}

static void mttkrp_fixed_j(void) {
    memset(r, 0, sizeof(double) * (size_t)count);
    for (int64_t i = 0; i < n; i++) mttkrp_row(r + i * n, a + i * n, b + 3 * n, spare);
}

#include "structures_products.h"
#include "structures_joins.h"

static struct {
    const char *name;
    void (*run)(void);
} kernels[] = {
    {"symmv", symmv},
    {"trimv", trimv},
    {"cov", cov},
    {"lrc", lrc},
    {"lra", sums_of_two},
    {"pr2c", pr2c},
    {"pr2a", sums_of_two},
    {"pr3c", pr3c},
    {"pr3a", sums_of_two},
    {"ttm-diagonal", ttm_diagonal},
    {"ttm-fixed-j", ttm_fixed},
    {"ttm-half", ttm_half},
    {"thp-diagonal", thp_diagonal},
    {"thp-fixed-i", thp_fixed_i},
    {"thp-fixed-j", thp_fixed_j},
    {"mttkrp-fixed-ij", mttkrp_fixed_ij},
    {"mttkrp-fixed-i", mttkrp_fixed_i},
    {"mttkrp-fixed-j", mttkrp_fixed_j},
    {"sym-sym", sym_sym},
    {"sym-rows", sym_rows},
    {"skew-cov", skew_cov},
    {"toeplitz", toeplitz},
    {"leslie-mv", leslie_mv},
    {"leslie-mm", leslie_mm},
    {"join-13", join_13},
    {"lr-13", lr_13},
    {"pr2-13", pr2_13},
    {"join-6", join_6},
    {"lr-6", lr_6},
    {"pr2-6", pr2_6},
};

static int is(const char *kernel, const char *name) { return strncmp(kernel, name, strlen(name)) == 0; }

/* The inputs of a kernel, and the number of values of its result. */
static void made(const char *kernel) {
    const int64_t square = n * n, cube = square * n, half = simplex(2);
    if (joins_made(kernel)) return;
    if (is(kernel, "symmv") || is(kernel, "trimv")) a = filled(half), b = filled(n), count = n;
    else if (is(kernel, "cov")) a = filled(square), count = half;
    else if (is(kernel, "lrc")) a = filled(n), count = half;
    else if (is(kernel, "lra")) count = half, a = filled(count), b = filled(count);
    else if (is(kernel, "pr2c")) a = filled(n), count = simplex(4);
    else if (is(kernel, "pr2a")) count = simplex(4), a = filled(count), b = filled(count);
    else if (is(kernel, "pr3c")) a = filled(n), count = simplex(6);
    else if (is(kernel, "pr3a")) count = simplex(6), a = filled(count), b = filled(count);
    else if (is(kernel, "ttm-half")) a = filled(simplex(3)), b = filled(square), count = cube;
    else if (is(kernel, "ttm")) a = filled(square), b = filled(square), count = cube;
    else if (is(kernel, "thp-diagonal")) a = filled(n), b = filled(cube), count = n;
    else if (is(kernel, "thp")) a = filled(square), b = filled(cube), count = square;
    else if (is(kernel, "mttkrp-fixed-ij")) a = filled(n), b = filled(square), c = filled(square), count = square;
    else if (is(kernel, "mttkrp")) a = filled(square), b = filled(square), c = filled(square), count = square;
    else if (is(kernel, "sym-sym")) a = filled(half), b = filled(half), count = square;
    else if (is(kernel, "sym-rows")) a = filled(half), b = filled(n), count = square;
    else if (is(kernel, "skew-cov")) a = filled(half - n), count = half;
    else if (is(kernel, "toeplitz")) a = filled(TAPS), b = filled(n), count = n;
    else if (is(kernel, "leslie-mv")) a = filled(2 * n - 1), b = filled(n), count = n;
    else a = filled(2 * n - 1), b = filled(square), count = square;
    if (is(kernel, "sym-") || is(kernel, "skew")) whole = filled(square), other = filled(square);
    spare = filled(n);
}

int main(int argc, char **argv) {
    if (argc < 3) return 1;
    n = atoll(argv[1]);
    const char *kernel = argv[2];
    made(kernel);
    r = filled(count);
    void (*run)(void) = NULL;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (strcmp(kernel, kernels[k].name) == 0) run = kernels[k].run;
    if (!run) return 1;
    printf("ready 0\n");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        struct timespec begin, end;
        int64_t runs = 1;
        sscanf(line, "step %" SCNd64, &runs);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int64_t k = 0; k < runs; k++) run();
        clock_gettime(CLOCK_MONOTONIC, &end);
        double sum = 0;
        for (int64_t p = 0; p < count; p++) sum += r[p];
        const double elapsed = 1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
        printf("%.9f %.17g\n", elapsed / (double)runs, sum);
        fflush(stdout);
    }
    return 0;
}

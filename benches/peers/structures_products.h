/* Products with symmetric, skew, Toeplitz and Leslie matrices, each stored by its unique elements. */

/* The whole matrix of a symmetric one (`sign` 1, with its diagonal) or of a skew one (`sign` -1, without), in blocks. */
enum { BLOCK = 32 };

static void completed(const double *restrict from, double sign, double *restrict to) {
    const int64_t skip = sign < 0;
    for (int64_t i = 0; i < n; i++) {
        if (skip) to[i * n + i] = 0;
        for (int64_t j = i + skip; j < n; j++) to[i * n + j] = *from++;
    }
    for (int64_t rows = 0; rows < n; rows += BLOCK)
        for (int64_t columns = 0; columns <= rows; columns += BLOCK)
            for (int64_t i = rows; i < rows + BLOCK && i < n; i++)
                for (int64_t j = columns; j < columns + BLOCK && j < i; j++) to[i * n + j] = sign * to[j * n + i];
}

static double *whole, *other;

/* Four rows together, over whole matrices. */
static void sym_sym(void) {
    completed(a, 1, whole);
    completed(b, 1, other);
    memset(r, 0, sizeof(double) * (size_t)count);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int64_t j = 0; j < n; j++) {
            const double *restrict x = other + j * n, *own = whole + i * n + j;
            const double v0 = own[0], v1 = own[n], v2 = own[2 * n], v3 = own[3 * n];
            double *restrict r0 = r + i * n, *restrict r1 = r0 + n, *restrict r2 = r1 + n, *restrict r3 = r2 + n;
            for (int64_t k = 0; k < n; k++) {
                r0[k] += v0 * x[k];
                r1[k] += v1 * x[k];
                r2[k] += v2 * x[k];
                r3[k] += v3 * x[k];
            }
        }
    for (; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++) r[i * n + k] += whole[i * n + j] * other[j * n + k];
}

static void sym_rows(void) {
    completed(a, 1, r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] *= b[j];
}

static void skew_cov(void) {
    completed(a, -1, whole);
    covariance(whole);
}

/* A convolution: the matrix has `TAPS` diagonals, each of one value. Sums of a strip are formed together. */
enum { TAPS = 16, STRIP = 32 };

static void toeplitz(void) {
    int64_t i = 0;
    for (; i < TAPS - 1 && i < n; i++) {
        r[i] = 0;
        for (int64_t d = 0; d <= i; d++) r[i] += a[d] * b[i - d];
    }
    for (; i + STRIP <= n; i += STRIP) {
        double sums[STRIP] = {0};
        for (int64_t d = 0; d < TAPS; d++)
            for (int64_t s = 0; s < STRIP; s++) sums[s] += a[d] * b[i + s - d];
        memcpy(r + i, sums, sizeof sums);
    }
    for (; i < n; i++) {
        r[i] = 0;
        for (int64_t d = 0; d < TAPS; d++) r[i] += a[d] * b[i - d];
    }
}

/* A Leslie matrix has its first row, and then one element of each row. */
static void leslie_mv(void) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += a[j] * b[j];
    r[0] = sum;
    for (int64_t i = 1; i < n; i++) r[i] = a[n + i - 1] * b[i - 1];
}

static void leslie_mm(void) {
    memset(r, 0, sizeof(double) * (size_t)n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) r[k] += a[j] * b[j * n + k];
    for (int64_t i = 1; i < n; i++) {
        const double own = a[n + i - 1];
        for (int64_t k = 0; k < n; k++) r[i * n + k] = own * b[(i - 1) * n + k];
    }
}

/* Joins of a table with three others by keys, and covariances of rows (`join-13`, `lr-13`, `pr2-13`, and the same of 6 columns).
 *
 * Joins are stored by columns. Eight rows are taken together, whose products are added in eight lanes, one for each row.
 */
enum { LANES = 8 };

/* The number of columns of each of four tables. */
typedef const int Parts[4];
static Parts PARTS_13 = {4, 3, 3, 3}, PARTS_6 = {3, 1, 1, 1};
static const int64_t TABLE_ROWS[4] = {0, 5000, 500, 100};

static double *tables[4];
static int64_t *keys[4];

static void tables_made(Parts parts) {
    for (int k = 0; k < 4; k++) {
        const int64_t rows = k == 0 ? n : TABLE_ROWS[k];
        tables[k] = filled(rows * parts[k]);
        if (k == 0) continue;
        keys[k] = malloc(sizeof(int64_t) * (size_t)n);
        for (int64_t p = 0; p < n; p++) keys[k][p] = 31 * p % rows;
    }
}

static inline void joined(Parts parts) {
    double *restrict to = r;
    for (int k = 0; k < 4; to += n * parts[k], k++)
        for (int64_t t = 0; t < n; t++) {
            const double *restrict from = tables[k] + parts[k] * (k == 0 ? t : keys[k][t]);
            for (int c = 0; c < parts[k]; c++) to[c * n + t] = from[c];
        }
}

static void join_13(void) { joined(PARTS_13); }
static void join_6(void) { joined(PARTS_6); }

/* The next rows of all columns, with zeros where there are no more. */
static inline void loaded(int width, int64_t t, double (*restrict columns)[LANES]) {
    if (n - t >= LANES) {
        for (int c = 0; c < width; c++)
            for (int s = 0; s < LANES; s++) columns[c][s] = a[c * n + t + s];
        return;
    }
    for (int c = 0; c < width; c++)
        for (int s = 0; s < LANES; s++) columns[c][s] = t + s < n ? a[c * n + t + s] : 0;
}

static double (*sums)[LANES];

static inline void summed_up(void) {
    for (int64_t p = 0; p < count; p++) {
        r[p] = 0;
        for (int s = 0; s < LANES; s++) r[p] += sums[p][s];
    }
}

static inline void lr(int width) {
    double columns[16][LANES];
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int64_t t = 0; t < n; t += LANES) {
        loaded(width, t, columns);
        double(*restrict to)[LANES] = sums;
        for (int i = 0; i < width; i++)
            for (int j = i; j < width; j++, to++)
                for (int s = 0; s < LANES; s++) (*to)[s] += columns[i][s] * columns[j][s];
    }
    summed_up();
}

static inline void pr2(int width) {
    double columns[16][LANES];
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int64_t t = 0; t < n; t += LANES) {
        loaded(width, t, columns);
        double(*restrict to)[LANES] = sums;
        for (int i = 0; i < width; i++)
            for (int j = i; j < width; j++)
                for (int k = j; k < width; k++) {
                    double outer[LANES];
                    for (int s = 0; s < LANES; s++) outer[s] = columns[i][s] * columns[j][s] * columns[k][s];
                    for (int l = k; l < width; l++, to++)
                        for (int s = 0; s < LANES; s++) (*to)[s] += outer[s] * columns[l][s];
                }
    }
    summed_up();
}

static void lr_13(void) { lr(13); }
static void lr_6(void) { lr(6); }
static void pr2_13(void) { pr2(13); }
static void pr2_6(void) { pr2(6); }

/* The number of elements of a symmetric tensor of covariances. */
static int64_t covariances(int64_t width, int order) {
    int64_t product = 1;
    for (int k = 0; k < order; k++) product = product * (width + k) / (k + 1);
    return product;
}

/* The inputs of these kernels; 0 if it is none of them. */
static int joins_made(const char *kernel) {
    const char *dash = strrchr(kernel, '-');
    const int width = dash ? atoi(dash + 1) : 0;
    if (width != 13 && width != 6) return 0;
    tables_made(width == 13 ? PARTS_13 : PARTS_6);
    if (kernel[0] == 'j') {
        count = n * width;
        return 1;
    }
    r = malloc(sizeof(double) * (size_t)(n * width));
    width == 13 ? join_13() : join_6();
    a = r;
    count = covariances(width, kernel[0] == 'l' ? 2 : 4);
    sums = malloc(sizeof *sums * (size_t)count);
    return 1;
}

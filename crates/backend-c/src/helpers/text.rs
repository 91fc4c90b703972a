//! The templates of the helpers' texts.
//!
//! `{name}` stands for the function's name, `{T}` for the element type, `{t}` for its name in the IR, `{U}` for the
//! unsigned type that arithmetic wraps in, `{f}` for the suffix of `math.h`; other braces are explained where they are
//! filled in. `typed("{T} x", DType::F32)` is `float x`.

pub(super) const MAKE: &str = "\
/* A complex number from its parts, each as it is: re + im * I would turn an infinite part into NaN. */
static inline {T} {name}({part} re, {part} im)
{
    const {part} parts[2] = {re, im};
    {T} z;
    memcpy(&z, parts, sizeof z);
    return z;
}
";

pub(super) const NEG: &str = "\
static inline {T} {name}({T} a) { return ({T})(0u - ({U})a); }
";

pub(super) const WRAPPING: &str = "\
static inline {T} {name}({T} a, {T} b) { return ({T})(({U})a {op} ({U})b); }
";

pub(super) const DIV_SIGNED: &str = "\
/* a / b, truncated; 0 if b is 0; wraps around if the quotient does not fit. */
static inline {T} {name}({T} a, {T} b)
{
    if (b == 0) {
        return 0;
    }
    return b == -1 ? lac_neg_{t}(a) : ({T})(a / b);
}
";

pub(super) const DIV_UNSIGNED: &str = "\
/* a / b; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 ? 0 : ({T})(a / b); }
";

pub(super) const REM_SIGNED: &str = "\
/* a % b with the sign of a; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 || b == -1 ? 0 : ({T})(a % b); }
";

pub(super) const REM_UNSIGNED: &str = "\
/* a % b; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 ? 0 : ({T})(a % b); }
";

pub(super) const SHIFT: &str = "\
/* The bits of a moved {way} by b modulo {bits}. */
static inline {T} {name}({T} a, {T} b) { return ({T})(a {op} (b & {last})); }
";

pub(super) const COUNT_ONES: &str = "\
/* How many bits of a are 1. */
static inline {T} {name}({T} a)
{
#ifdef __GNUC__
    return ({T})__builtin_popcountll(a);
#else
    {T} count = 0;
    while (a != 0) {
        a = ({T})(a & (a - 1));
        count = ({T})(count + 1);
    }
    return count;
#endif
}
";

pub(super) const TRAILING_ZEROS: &str = "\
/* How many bits of a are below its lowest 1; {bits} if a is 0. */
static inline {T} {name}({T} a)
{
    if (a == 0) {
        return {bits};
    }
#ifdef __GNUC__
    return ({T})__builtin_ctzll(a);
#else
    {T} count = 0;
    while ((a & 1) == 0) {
        a = ({T})(a >> 1);
        count = ({T})(count + 1);
    }
    return count;
#endif
}
";

pub(super) const BIT: &str = "\
/* Whether bit k of a is 1; k modulo {bits}. */
static inline bool {name}({T} a, int64_t k) { return ((a >> (k & {last})) & 1) != 0; }
";

pub(super) const RANK: &str = "\
/* How many bits of a below bit k are 1; k modulo {bits}. */
static inline int64_t {name}({T} a, int64_t k)
{
    return (int64_t)lac_count_ones_{t}(({T})(a & ({T})((({T})1 << (k & {last})) - 1)));
}
";

pub(super) const POW_NEGATIVE: &str = "    if (n < 0) {
        const {T} odd = n % 2 != 0;
        return a == 1 ? 1 : a == -1 ? ({T})(1 - 2 * odd) : 0;
    }
";

pub(super) const POW: &str = "\
/* a to the power of n by repeated multiplication, wrapping around. */
static inline {T} {name}({T} a, {T} n)
{
{negative}    {T} result = 1;
    while (n != 0) {
        if (n % 2 != 0) {
            result = {result * a};
        }
        a = {a * a};
        n = ({T})(n / 2);
    }
    return result;
}
";

pub(super) const ABS: &str = "\
static inline {T} {name}({T} a) { return a < 0 ? lac_neg_{t}(a) : a; }
";

pub(super) const SIGN_REAL: &str = "\
/* -1, 0 or 1; NaN stays. */
static inline {T} {name}({T} a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
";

pub(super) const SIGN_INTEGER: &str = "\
/* -1, 0 or 1. */
static inline {T} {name}({T} a) { return a > 0 ? 1 : a == 0 ? 0 : ({T})-1; }
";

pub(super) const MIN_REAL: &str = "\
/* The smaller of two numbers; NaN if either is. */
static inline {T} {name}({T} a, {T} b) { return a < b || a != a ? a : b; }
";

pub(super) const MAX_REAL: &str = "\
/* The larger of two numbers; NaN if either is. */
static inline {T} {name}({T} a, {T} b) { return a > b || a != a ? a : b; }
";

pub(super) const MIN_INTEGER: &str = "\
static inline {T} {name}({T} a, {T} b) { return a < b ? a : b; }
";

pub(super) const MAX_INTEGER: &str = "\
static inline {T} {name}({T} a, {T} b) { return a > b ? a : b; }
";

pub(super) const TO_INTEGER: &str = "\
/* A real number as an integer: truncated, at most the nearest that fits, 0 for NaN. */
static inline {T} {name}(double a)
{
    if (a != a) {
        return 0;
    }
    return a <= {least} ? {LEAST} : a >= {beyond} ? {GREATEST} : ({T})a;
}
";

pub(super) const FROM_F16: &str = "\
/* The value of a binary16: exponent and fraction in their places, times 2^112, as the biases differ. */
static inline float {name}(uint16_t a)
{
    const uint32_t magnitude = a & 0x7fffu;
    uint32_t bits = magnitude << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= magnitude < 0x7c00u ? 0u : 0x7f800000u;
    bits |= (uint32_t)(a & 0x8000u) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}
";

pub(super) const TO_F16: &str = "\
/* The binary16 next to a number; ties to even. Below 2^-14 by adding 0.5, whose last bit is 2^-24. */
static inline uint16_t {name}(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t kept = (magnitude < 0x47800000u ? magnitude : 0x47800000u) - 0x38000000u;
    const uint32_t normal = (kept + 0xfffu + (kept >> 13 & 1u)) >> 13;
    float sum;
    memcpy(&sum, &magnitude, sizeof sum);
    sum += 0.5f;
    memcpy(&bits, &sum, sizeof bits);
    const uint32_t finite = magnitude < 0x38800000u ? bits - 0x3f000000u : normal;
    return (uint16_t)((magnitude > 0x7f800000u ? 0x7e00u : finite) | sign);
}
";

pub(super) const FROM_BF16: &str = "\
/* The value of a bfloat16: the upper half of a float. */
static inline float {name}(uint16_t a)
{
    const uint32_t bits = (uint32_t)a << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
";

pub(super) const TO_BF16: &str = "\
/* The bfloat16 next to a number; ties to even. */
static inline uint16_t {name}(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    const uint32_t finite = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : finite);
}
";

pub(super) const LOWER_BOUND: &str = "\
/* The first p of begin .. end with a[p] >= key, or end; a ascends. */
static inline int64_t {name}(const {T} *a, int64_t begin, int64_t end, int64_t key)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (key > 0 && a[middle] < (uint64_t)key) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}
";

pub(super) const UNPACK: &str = "\
/* Writes base + k for each 1 of word, at bit k, to the list; how many these are. */
static inline int64_t lac_unpack(uint16_t *list, uint64_t word, int64_t base)
{
    int64_t count = 0;
    while (word != 0) {
        list[count++] = (uint16_t)(base + (int64_t)lac_trailing_zeros_u64(word));
        word &= word - 1;
    }
    return count;
}
";

pub(super) const MARKS: &str = "\
/* 64 marks as bits, the first as the lowest. The product moves byte k of eight to bit 56 + k. */
static inline int64_t lac_marks(const bool *marks)
{
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++) {
        uint64_t eight = 0;
        for (int byte = 0; byte < 8; byte++) {
            eight |= (uint64_t)marks[8 * k + byte] << (8 * byte);
        }
        bits |= ((eight * 0x0102040810204080u) >> 56) << (8 * k);
    }
    return (int64_t)bits;
}
";

pub(super) const TAKE: &str = "\
/* The next number, which no other thread gets. */
static inline int64_t lac_take(int64_t *next)
{
    int64_t taken;
    LACUNAR_OMP(omp atomic capture)
    {
        taken = *next;
        *next += 1;
    }
    return taken;
}
";

pub(super) const RAISED: &str = "\
/* Whether another thread has raised a flag, as far as this one can tell. */
static inline int64_t lac_raised(const bool *flag)
{
    bool raised;
    LACUNAR_OMP(omp atomic read)
    raised = *flag;
    return raised;
}
";

pub(super) const MEMORY: &str = "\
/* The memory of an array: where it starts, how many elements there is room for, and whether it could be had. */
struct lac_memory {
    void *start;
    uint64_t capacity;
    int32_t status;
};
";

pub(super) const RELEASE: &str = "\
static inline void {name}(const struct lacunar_runtime *runtime, void *memory)
{
    if (memory == NULL) {
        return;
    }
    if (runtime != NULL) {
        runtime->release(memory);
    } else {
        free(memory);
    }
}
";

pub(super) const ALLOCATE: &str = "\
/* Memory for len elements of size bytes each, in place of the old memory. */
static inline struct lac_memory {name}(const struct lacunar_runtime *runtime, void *old, int64_t len,
                                             uint64_t size, bool zeroed)
{
    struct lac_memory memory = {NULL, 0, LACUNAR_OUT_OF_MEMORY};
    lac_release(runtime, old);
    if (len < 0 || (uint64_t)len > UINT64_MAX / size) {
        memory.status = LACUNAR_SIZE_OVERFLOW;
        return memory;
    }
    const uint64_t bytes = len == 0 ? size : (uint64_t)len * size;
    if (runtime != NULL) {
        memory.start = runtime->allocate(bytes, zeroed);
    } else {
        memory.start = zeroed ? calloc(bytes, 1) : malloc(bytes);
    }
    if (memory.start != NULL) {
        memory.capacity = (uint64_t)len;
        memory.status = LACUNAR_OK;
    }
    return memory;
}
";

pub(super) const ELEMENTS: &str = "\
/* count * block, or UINT64_MAX if that is negative or does not fit. */
static inline uint64_t {name}(int64_t count, int64_t block)
{
    const bool small = (uint64_t)(count | block) <= UINT32_MAX / 2;
    if (!small && (count < 0 || block < 0 || (block > 0 && count > INT64_MAX / block))) {
        return UINT64_MAX;
    }
    return (uint64_t)count * (uint64_t)block;
}
";

pub(super) const GROW: &str = "\
/* Room for as many elements of size bytes each as are needed, and for twice as many as before, with the old ones kept
   and, if zeroed, the new ones zero. If that fails, the old memory stays. */
static inline struct lac_memory {name}(const struct lacunar_runtime *runtime, void *old, uint64_t capacity,
                                         uint64_t needed, uint64_t size, bool zeroed)
{
    struct lac_memory memory = {old, capacity, LACUNAR_OUT_OF_MEMORY};
    const uint64_t wanted = capacity > needed / 2 ? 2 * capacity : needed;
    if (needed > INT64_MAX || wanted > UINT64_MAX / size) {
        memory.status = LACUNAR_SIZE_OVERFLOW;
        return memory;
    }
    const uint64_t kept = capacity * size;
    void *start;
    if (runtime != NULL) {
        start = runtime->reallocate(old, kept, wanted * size, zeroed ? kept : UINT64_MAX);
    } else {
        start = realloc(old, wanted * size);
        if (start != NULL && zeroed) {
            memset((char *)start + kept, 0, wanted * size - kept);
        }
    }
    if (start != NULL) {
        memory.start = start;
        memory.capacity = wanted;
        memory.status = LACUNAR_OK;
    }
    return memory;
}
";

pub(super) const SORT_MARKED: &str = "\
static inline int lac_compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts list[0 .. n], the n coordinates k below size with marks[k]; reads the marks off if they are not many more. */
static inline void {name}(const struct lacunar_runtime *runtime, int64_t *list, int64_t n, const bool *marks,
                                   int64_t size)
{
    if (runtime != NULL) {
        runtime->sort_marked(list, n, (const uint8_t *)marks, size);
    } else if (n > size / 32) {
        int64_t found = 0;
        for (int64_t k = 0; k < size && found < n; k++) {
            if (marks[k]) {
                list[found] = k;
                found++;
            }
        }
    } else if (n > 1) {
        qsort(list, (size_t)n, sizeof *list, lac_compare_i64);
    }
}
";

pub(super) const SORT_ORDER: &str = "\
/* Compares entries a and b by their keys, the first key first: below, at or above 0. */
static inline int lac_compare_keys(int64_t *const *keys, uint64_t nkeys, int64_t a, int64_t b)
{
    for (uint64_t k = 0; k < nkeys; k++) {
        if (keys[k][a] != keys[k][b]) {
            return keys[k][a] < keys[k][b] ? -1 : 1;
        }
    }
    return 0;
}

/* The entries 0 .. n in the order of their keys, equal ones as they were: merges runs of doubling length. The result is
   in one of the two arrays given; the other one is spare. */
static inline int64_t *lac_sort_order(int64_t *const *keys, uint64_t nkeys, int64_t n, int64_t *order, int64_t *spare)
{
    for (int64_t k = 0; k < n; k++) {
        order[k] = k;
    }
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            const int64_t middle = width < n - low ? low + width : n;
            const int64_t high = 2 * width < n - low ? low + 2 * width : n;
            int64_t a = low;
            int64_t b = middle;
            for (int64_t k = low; k < high; k++) {
                if (b == high || (a < middle && lac_compare_keys(keys, nkeys, order[a], order[b]) <= 0)) {
                    spare[k] = order[a];
                    a++;
                } else {
                    spare[k] = order[b];
                    b++;
                }
            }
        }
        int64_t *const sorted = spare;
        spare = order;
        order = sorted;
    }
    return order;
}
";

pub(super) const SORT_COMBINE: &str = "\
/* Sorts n entries by their keys and adds up the values of equal keys; how many entries are left, or -1 without memory. */
static inline int64_t {name}(const struct lacunar_runtime *runtime, int64_t **keys, uint64_t nkeys,
                                         {T} *values, int64_t n)
{
    if (runtime != NULL) {
        return runtime->sort_combine(keys, nkeys, values, {number}, n);
    }
    if (n <= 0) {
        return 0;
    }
    if (n > INT64_MAX / 16) {
        return -1;
    }
    int64_t *const orders = malloc((size_t)n * 2 * sizeof *orders);
    {T} *const totals = malloc((size_t)n * sizeof *totals);
    if (orders == NULL || totals == NULL) {
        free(orders);
        free(totals);
        return -1;
    }
    const int64_t *const order = lac_sort_order(keys, nkeys, n, orders, orders + n);
    int64_t *const first = order == orders ? orders + n : orders;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) {
        const {T} value = values[order[k]];
        if (k > 0 && lac_compare_keys(keys, nkeys, order[k - 1], order[k]) == 0) {
            const {T} total = totals[count - 1];
            totals[count - 1] = {sum};
        } else {
            totals[count] = value;
            first[count] = order[k];
            count++;
        }
    }
    memcpy(values, totals, (size_t)count * sizeof *totals);
    int64_t *const key = first == orders ? orders + n : orders;
    for (uint64_t k = 0; k < nkeys; k++) {
        for (int64_t e = 0; e < count; e++) {
            key[e] = keys[k][first[e]];
        }
        memcpy(keys[k], key, (size_t)count * sizeof *key);
    }
    free(orders);
    free(totals);
    return count;
}
";

pub(super) const VERSIONS: &str = "\
/* GCC makes versions of a kernel for several processors, between which the program chooses when it starts, unless it is told
   which processor to compile for. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 6 && defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX__)
#define {name} __attribute__((target_clones(\"default\", \"arch=haswell\", \"arch=skylake-avx512\")))
#else
#define {name}
#endif
";

pub(super) const OMP: &str = "\
#ifdef _OPENMP
#define {name}(...) _Pragma(#__VA_ARGS__)
#else
#define {name}(...)
#endif
";

pub(super) const PREFETCH: &str = "\
/* Brings elements of so many bytes near, where the compiler can say so. They need not be there. */
static inline void lac_prefetch(const void *array, int64_t begin, int64_t end, int64_t size)
{
#ifdef __GNUC__
    for (int64_t line = 0; line < (end - begin) * size; line += 64) {
        __builtin_prefetch((const void *)((uintptr_t)array + (uintptr_t)(begin * size + line)));
    }
#else
    (void)array, (void)begin, (void)end, (void)size;
#endif
}
";

pub(super) const GNU: &str = "\
#ifdef __GNUC__
#define {name}(...) _Pragma(#__VA_ARGS__)
#else
#define {name}(...)
#endif
";

pub(super) const PART: &str = "\
/* An array that an iteration of a parallel loop has made, and how many elements the parts before it have. */
struct {name} {
    void *start;
    int64_t length;
    int64_t before;
};
";

pub(super) const RELEASE_PARTS: &str = "\
/* Releases a list of parts, and those that it still has. */
static inline void {name}(const struct lacunar_runtime *runtime, struct lac_part *parts, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++) {
        lac_release(runtime, parts[c].start);
    }
    lac_release(runtime, parts);
}
";

pub(super) const PLACE_PARTS: &str = "\
/* Notes how many elements the parts before each one have; how many there are in all. */
static inline int64_t {name}(struct lac_part *parts, uint64_t count)
{
    int64_t total = 0;
    for (uint64_t c = 0; c < count; c++) {
        parts[c].before = total;
        total += parts[c].length;
    }
    return total;
}
";

pub(super) const JOIN_PARTS: &str = "\
/* Moves the elements of parts, size bytes each, to an array from its element at on. */
static inline void {name}(const struct lacunar_runtime *runtime, struct lac_part *parts, uint64_t count,
                                  void *array, int64_t at, uint64_t size)
{
    LACUNAR_OMP(omp parallel for schedule(dynamic, 1) if (count > 1 && parts[count - 1].before > 100000))
    for (int64_t c = 0; c < (int64_t)count; c++) {
        if (parts[c].length > 0) {
            char *const to = (char *)array + (uint64_t)(at + parts[c].before) * size;
            memcpy(to, parts[c].start, (uint64_t)parts[c].length * size);
        }
        lac_release(runtime, parts[c].start);
        parts[c].start = NULL;
    }
}
";

pub(super) const JOIN_SHIFTED: &str = "\
/* Moves the elements of parts to an array from its element at on, adding to those of each part the number of elements
   in the parts before the same one of another list. A sum that does not fit is a failure. */
static inline int32_t {name}(const struct lacunar_runtime *runtime, struct lac_part *parts,
                                           uint64_t count, const struct lac_part *others, {T} *array, int64_t at)
{
    int32_t status = LACUNAR_OK;
    LACUNAR_OMP(omp parallel for schedule(dynamic, 1) reduction(max: status)
                if (count > 1 && parts[count - 1].before > 100000))
    for (int64_t c = 0; c < (int64_t)count; c++) {
        const {T} *const from = parts[c].start;
        const int64_t first = at + parts[c].before;
        bool fits = true;
        for (int64_t k = 0; k < parts[c].length; k++) {
            {sum}
            array[first + k] = ({T})sum;
        }
        if (!fits) {
            status = LACUNAR_SIZE_OVERFLOW;
        }
        lac_release(runtime, parts[c].start);
        parts[c].start = NULL;
    }
    return status;
}
";

pub(super) const ATOMIC: &str = "\
/* Combines a number with b; other threads come before or after. */
static inline void {name}({T} *number, {T} b)
{
#ifdef __GNUC__
    {T} a;
    {T} combined;
    __atomic_load(number, &a, __ATOMIC_RELAXED);
    do {
        combined = {combined};
    } while (!__atomic_compare_exchange(number, &a, &combined, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
#else
    LACUNAR_OMP(omp critical({name}))
    {
        const {T} a = *number;
        *number = {combined};
    }
#endif
}
";

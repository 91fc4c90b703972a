//! Printed kernels with a runtime's function table: every allocation is refused once, in turn.
//!
//! The table is written in C. It counts the blocks that are out, and refuses the n-th request. A kernel must then return
//! `LACUNAR_OUT_OF_MEMORY`, keep the grown arrays that it has, and release everything else.

use crate::common;
use std::process::Command;

use lacunar_backend_c::{COptions, print_all};

const TABLE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int requests, refused, blocks;

static void *allocate(uint64_t bytes, uint32_t zeroed)
{
    if (++requests == refused) {
        return NULL;
    }
    blocks++;
    return zeroed ? calloc(bytes, 1) : malloc(bytes);
}

static void *reallocate(void *old, uint64_t bytes_kept, uint64_t new_bytes, uint64_t zero_from_byte)
{
    if (++requests == refused) {
        return NULL;
    }
    unsigned char *memory = malloc(new_bytes);
    memset(memory, 0xff, new_bytes);
    if (old != NULL) {
        memcpy(memory, old, bytes_kept);
    }
    if (zero_from_byte < new_bytes) {
        memset(memory + zero_from_byte, 0, new_bytes - zero_from_byte);
    }
    blocks += old == NULL;
    free(old);
    return memory;
}

static void release(void *memory)
{
    blocks -= memory != NULL;
    free(memory);
}

static void sort_marked(int64_t *list, int64_t n, const uint8_t *marks, int64_t size)
{
    int64_t found = 0;
    for (int64_t k = 0; k < size && found < n; k++) {
        if (marks[k] != 0) {
            list[found++] = k;
        }
    }
}

static int64_t sort_combine(int64_t **keys, uint64_t nkeys, void *values, uint32_t dtype, int64_t n)
{
    (void)keys;
    (void)values;
    return ++requests == refused ? -1 : (int64_t)(n * 100 + (int64_t)nkeys * 10 + dtype);
}

static const struct lacunar_runtime table = {.allocate = allocate, .reallocate = reallocate, .release = release,
    .sort_marked = sort_marked, .sort_combine = sort_combine};
"#;

const MAIN: &str = r#"
int main(void)
{
    const uint64_t a[] = {5, 1, 5};
    const int32_t x[] = {1, 2, 0, 3, 4};
    const uint32_t pos[] = {0, 2, 2, 3}, crd[] = {0, 1, 1};
    const double vals[] = {1, 2, 3};
    for (refused = 1; refused < 24; refused++) {
        int64_t y[2] = {-1, -1};
        struct distinct_args first = {&table, a, 3, y, 2, 3, 6};
        requests = 0;
        blocks = 0;
        printf("%d", (int)distinct(&first));
        printf(" %d", blocks);

        uint64_t count[1] = {0};
        struct compress_args second = {&table, x, 5, NULL, 0, NULL, 0, count, 1, 5};
        requests = 0;
        blocks = 0;
        printf(" | %d", (int)compress(&second));
        const int held = (second.y_crd != NULL) + (second.y_vals != NULL);
        printf(" %d", blocks == held);
        int right = second.y_vals_capacity >= 2;
        for (uint64_t k = 1; k < second.y_vals_capacity; k += 2) {
            right = right && second.y_vals[k] == 0;
        }
        printf(" %d", right);
        free(second.y_crd);
        free(second.y_vals);

        int64_t rows[1] = {0}, cols[1] = {0}, left[1] = {0};
        float values[1] = {0};
        struct combine_args third = {&table, rows, 1, cols, 1, values, 1, left, 1, 1};
        requests = 0;
        printf(" | %d", (int)combine(&third));
        printf(" %d", (int)left[0]);

        int64_t counts[2] = {0, 0};
        double most[1] = {0};
        bool seen[2] = {false, false};
        double complex total[1] = {0};
        struct chunks_args fourth = {&table, pos, 4, crd, 3, vals, 3, NULL, 0, NULL, 0, NULL, 0,
                                     counts, 2, most, 1, seen, 2, total, 1, 3, 2};
        requests = 0;
        blocks = 0;
        printf(" | %d", (int)chunks(&fourth));
        const int kept = (fourth.C_pos != NULL) + (fourth.C_crd != NULL) + (fourth.C_vals != NULL);
        printf(" %d\n", blocks == kept);
        free(fourth.C_pos);
        free(fourth.C_crd);
        free(fourth.C_vals);
    }
    return 0;
}
"#;

#[test]
fn every_refused_request_is_reported_and_nothing_leaks() {
    let kernels =
        [common::distinct(), common::compress(), common::combine(lacunar_formats::DType::F32), common::chunks()];
    let source = print_all(&kernels, &COptions::default()).single_file();
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (path, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&path, format!("{source}{TABLE}{MAIN}")).expect("the program is written");
    common::cc(&path, &program, &["-O2"]).unwrap_or_else(|message| panic!("{message}"));
    let output = Command::new(&program).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("the program prints text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 23, "{text}");
    for (number, line) in (1..).zip(&lines) {
        // `distinct` makes 2 requests; `compress` grows each array to 1 (2), 2 (4) and 4 (8) entries, 6 in all.
        let distinct = if number <= 2 { "1 0" } else { "0 0" };
        let compress = if number <= 6 { "1 1" } else { "0 1" };
        // The first request for values is the second one; before it there are none to be right.
        let values = if number <= 2 { "0" } else { "1" };
        // One entry, two keys, and `F32` is number 11 of the types.
        let combine = if number == 1 { "1 0" } else { "0 131" };
        // Three lists of parts; for two chunks the ends of rows, and coordinates and values that grow to 2 and 1; in the
        // end three arrays, the first of which grows twice.
        let chunks = if number <= 3 + (1 + 4) + (1 + 2) + 4 { "1 1" } else { "0 1" };
        let expected = format!("{distinct} | {compress} {values} | {combine} | {chunks}");
        assert_eq!(*line, expected, "request {number} refused");
    }
}

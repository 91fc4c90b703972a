//! The length of an array as a caller gives it: a number of elements, which may tell their type in its upper bits.
//!
//! `lac_length(crd, LACUNAR_U32(3), 8)` is 3; with `LACUNAR_U64(3)` it is `-LACUNAR_WRONG_TYPE`; with 3 alone it is 3.

pub(super) const LENGTH: &str = "\
/* The number of elements that the caller gives, or the negative of what the kernel returns: if they are of another type than
   the one with this code, or are not there. Code 0: nothing may be said of their type. */
static inline int64_t {name}(const void *memory, uint64_t given, uint64_t code)
{
    const uint64_t length = given < code << {bits} ? given : given - (code << {bits});
    if (length >> {bits} != 0) {
        return -LACUNAR_WRONG_TYPE;
    }
    return length > 0 && memory == NULL ? -LACUNAR_TOO_SHORT : (int64_t)length;
}
";

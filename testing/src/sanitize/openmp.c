/* Tells the thread sanitizer what the OpenMP library orders, whose code is not compiled with it: what comes before a parallel region comes
 * before its threads' work, that comes before what follows the region, and critical sections come one after the other. A library that
 * is loaded before OpenMP's; each function calls the one of the same name there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

extern void __tsan_acquire(void *at);
extern void __tsan_release(void *at);

/* A region: its code, what that is called with, and a place for each direction of the order. */
struct region {
    void (*code)(void *);
    void *data;
    char begins, ends;
};

static void work(void *argument)
{
    struct region *region = argument;
    __tsan_acquire(&region->begins);
    region->code(region->data);
    __tsan_release(&region->ends);
}

/* A function of OpenMP that lets threads work at a region, with further parameters. */
#define REGION(name, parameters, arguments)                                                                                                \
    void name(void (*code)(void *), void *data, unsigned threads, parameters)                                                              \
    {                                                                                                                                      \
        void (*next)(void (*)(void *), void *, unsigned, parameters);                                                                      \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                                                                                         \
        struct region region = {code, data, 0, 0};                                                                                         \
        __tsan_release(&region.begins);                                                                                                    \
        next(work, &region, threads, arguments);                                                                                           \
        __tsan_acquire(&region.ends);                                                                                                      \
    }

#define LIST(...) __VA_ARGS__

/* Loops whose bounds the compiler knows have functions of their own. */
REGION(GOMP_parallel, unsigned flags, flags)
REGION(GOMP_parallel_loop_nonmonotonic_dynamic, LIST(long begin, long end, long step, long chunk, unsigned flags),
       LIST(begin, end, step, chunk, flags))
REGION(GOMP_parallel_loop_dynamic, LIST(long begin, long end, long step, long chunk, unsigned flags),
       LIST(begin, end, step, chunk, flags))

/* One place for all sections that exclude each other. */
static char unnamed;

#define SECTION(begin, end, parameter, argument, place)                                                                                    \
    void begin(parameter)                                                                                                                  \
    {                                                                                                                                      \
        void (*next)(parameter);                                                                                                           \
        *(void **)&next = dlsym(RTLD_NEXT, #begin);                                                                                        \
        next(argument);                                                                                                                    \
        __tsan_acquire(place);                                                                                                             \
    }                                                                                                                                      \
    void end(parameter)                                                                                                                    \
    {                                                                                                                                      \
        void (*next)(parameter);                                                                                                           \
        *(void **)&next = dlsym(RTLD_NEXT, #end);                                                                                          \
        __tsan_release(place);                                                                                                             \
        next(argument);                                                                                                                    \
    }

SECTION(GOMP_critical_name_start, GOMP_critical_name_end, void **name, name, name)
SECTION(GOMP_critical_start, GOMP_critical_end, void, , &unnamed)
SECTION(GOMP_atomic_start, GOMP_atomic_end, void, , &unnamed)

//! Names that the system's headers declare: a kernel must not have them, as it would conflict with them in a file that
//! includes both, or take their place when a program is linked.
//!
//! Functions, types and objects of ISO C11 and POSIX.1-2008, and the additions of the GNU library to `math.h`,
//! `stdlib.h` and `string.h`. Names that the printed file itself calls or includes are listed in `namer.rs`.

/// The names, between blanks.
pub(crate) const LIBRARY: &str = "main environ
    DIR FILE abort abs accept access acct acoshl acosl adjtime alarm aligned_alloc alphasort asctime asctime_r asinhl
    asinl asprintf at_quick_exit atan2l atanhl atanl atexit atof atoi atol atoll atomic_bool atomic_char
    atomic_char16_t atomic_char32_t atomic_flag atomic_flag_clear atomic_flag_clear_explicit atomic_flag_test_and_set
    atomic_flag_test_and_set_explicit atomic_int atomic_int_fast16_t atomic_int_fast32_t atomic_int_fast64_t
    atomic_int_fast8_t atomic_int_least16_t atomic_int_least32_t atomic_int_least64_t atomic_int_least8_t
    atomic_intmax_t atomic_intptr_t atomic_llong atomic_long atomic_ptrdiff_t atomic_schar atomic_short
    atomic_signal_fence atomic_size_t atomic_thread_fence atomic_uchar atomic_uint atomic_uint_fast16_t
    atomic_uint_fast32_t atomic_uint_fast64_t atomic_uint_fast8_t atomic_uint_least16_t atomic_uint_least32_t
    atomic_uint_least64_t atomic_uint_least8_t atomic_uintmax_t atomic_uintptr_t atomic_ullong atomic_ulong
    atomic_ushort atomic_wchar_t basename bcmp bcopy bind blkcnt_t blksize_t brk bsearch btowc bzero c16rtomb c32rtomb
    cabsl cacos cacosf cacosh cacoshf cacoshl cacosl caddr_t call_once canonicalize canonicalize_file_name
    canonicalizef canonicalizel carg cargf cargl casin casinf casinh casinhf casinhl casinl catan catanf catanh
    catanhf catanhl catanl cbrtl ccoshl ccosl ceill cexpl chdir chmod chown chroot cimagl clearenv clearerr clock
    clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clock_t clockid_t clog10 clog10f
    clog10l clogl close closedir cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_t cnd_timedwait cnd_wait confstr
    conjl connect copysign copysignf copysignl coshl cosl cpowl cproj cprojf cprojl cpu_set_t creall creat csinhl
    csinl csqrtl ctanhl ctanl ctermid ctime ctime_r daddr_t daemon daylight dev_t difftime dirfd div dlclose dlerror
    dlopen dlsym dprintf drand48_r drem dremf dreml dup dup2 dup3 duplocale dysize ecvt environ erf erfc erfcf erfcl
    erff erfl euidaccess execl execle execlp execv execve execvp exit exp10 exp10f exp10l exp2 exp2f exp2l expl
    explicit_bzero expm1 expm1f expm1l fabsl faccessat fchdir fchmod fchmodat fchown fchownat fclose fcntl fcvt
    fd_mask fd_set fdatasync fdim fdimf fdiml fdopen fdopendir feclearexcept fegetenv fegetexceptflag fegetround
    feholdexcept fenv_t feof feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv
    fexcept_t fexecve fflush ffs ffsl ffsll fgetc fgetpos fgets fgetwc fgetws fileno finite finitef finitel flockfile
    floorl fma fmaf fmal fmax fmaxf fmaxl fmaxmag fmaxmagf fmaxmagl fmemopen fmin fminf fminl fminmag fminmagf
    fminmagl fmodl fopen fork fpathconf fpos_t fpregset_t fprintf fputc fputs fputwc fputws fread freelocale freopen
    frexp frexpf frexpl fromfp fromfpf fromfpl fromfpx fromfpxf fromfpxl fsblkcnt_t fscanf fseek fseeko fsetpos
    fsfilcnt_t fsid_t fstat fstatat fsync ftell ftello ftruncate ftrylockfile funlockfile futimens fwide fwprintf
    fwrite fwscanf gamma gammaf gammal gcvt getc getc_unlocked getchar getchar_unlocked getcwd getdelim getegid
    getentropy getenv geteuid getgid getgroups gethostname getitimer getline getlogin getlogin_r getopt getopt_long
    getopt_long_only getpeername getpgid getpgrp getpid getppid getpriority getpt getrlimit getrusage gets getsid
    getsockname getsockopt getsubopt gettid gettimeofday getuid getwc getwchar gid_t gmtime gmtime_r greg_t gregset_t
    hypot hypotf hypotl id_t idtype_t ilogb ilogbf ilogbl imaxabs imaxdiv imaxdiv_t index initstate ino_t int_fast16_t
    int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t int_least8_t ioctl isalnum
    isalnum_l isalpha isalpha_l isatty isblank isblank_l iscntrl iscntrl_l isdigit isdigit_l isgraph isgraph_l isinff
    isinfl islower islower_l isnanf isnanl isprint isprint_l ispunct ispunct_l isspace isspace_l isupper isupper_l
    iswalnum iswalnum_l iswalpha iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l iswctype iswctype_l iswdigit
    iswdigit_l iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct iswpunct_l iswspace iswspace_l
    iswupper iswupper_l iswxdigit iswxdigit_l isxdigit isxdigit_l j0 j0f j0l j1 j1f j1l jmp_buf jn jnf jnl key_t kill
    labs lchown ldexp ldexpf ldexpl ldiv lgamma lgamma_r lgammaf lgammaf_r lgammal lgammal_r link linkat listen llabs
    lldiv llogb llogbf llogbl llrint llrintf llrintl llround llroundf llroundl locale_t localeconv localtime
    localtime_r loff_t log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl logl longjmp lrint lrintf lrintl
    lround lroundf lroundl lseek lstat main max_align_t mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsnrtowcs
    mbsrtowcs mbstate_t mbstowcs mbtowc mcontext_t memchr memcmp memmem memmove memory_order mempcpy memrchr mkdir
    mkdirat mkdtemp mkfifo mkfifoat mkostemp mkstemp mktemp mktime mlock mlockall mmap mode_t modf modff modfl mount
    mprotect msync mtx_destroy mtx_init mtx_lock mtx_t mtx_timedlock mtx_trylock mtx_unlock munlock munlockall munmap
    nan nanf nanl nanosleep nearbyint nearbyintf nearbyintl newlocale nextafter nextafterf nextafterl nextdown
    nextdownf nextdownl nexttoward nexttowardf nexttowardl nextup nextupf nextupl nfds_t nice nlink_t off_t once_flag
    open open_memstream open_wmemstream openat opendir optarg opterr optind optopt pathconf pause pclose perror pid_t
    pipe pipe2 poll popen posix_fadvise posix_fallocate posix_madvise posix_memalign pow10 powl pread printf pselect
    psiginfo psignal pthread_atfork pthread_attr_destroy pthread_attr_getdetachstate pthread_attr_getguardsize
    pthread_attr_getinheritsched pthread_attr_getschedparam pthread_attr_getschedpolicy pthread_attr_getscope
    pthread_attr_getstack pthread_attr_getstackaddr pthread_attr_getstacksize pthread_attr_init
    pthread_attr_setdetachstate pthread_attr_setguardsize pthread_attr_setinheritsched pthread_attr_setschedparam
    pthread_attr_setschedpolicy pthread_attr_setscope pthread_attr_setstack pthread_attr_setstackaddr
    pthread_attr_setstacksize pthread_attr_t pthread_barrier_destroy pthread_barrier_init pthread_barrier_t
    pthread_barrier_wait pthread_barrierattr_destroy pthread_barrierattr_getpshared pthread_barrierattr_init
    pthread_barrierattr_setpshared pthread_barrierattr_t pthread_cancel pthread_cond_broadcast pthread_cond_destroy
    pthread_cond_init pthread_cond_signal pthread_cond_t pthread_cond_timedwait pthread_cond_wait
    pthread_condattr_destroy pthread_condattr_getclock pthread_condattr_getpshared pthread_condattr_init
    pthread_condattr_setclock pthread_condattr_setpshared pthread_condattr_t pthread_create pthread_detach
    pthread_equal pthread_exit pthread_getcpuclockid pthread_getschedparam pthread_getspecific pthread_join
    pthread_key_create pthread_key_delete pthread_key_t pthread_kill pthread_mutex_consistent pthread_mutex_destroy
    pthread_mutex_getprioceiling pthread_mutex_init pthread_mutex_lock pthread_mutex_setprioceiling pthread_mutex_t
    pthread_mutex_timedlock pthread_mutex_trylock pthread_mutex_unlock pthread_mutexattr_destroy
    pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol pthread_mutexattr_getpshared
    pthread_mutexattr_getrobust pthread_mutexattr_gettype pthread_mutexattr_init pthread_mutexattr_setprioceiling
    pthread_mutexattr_setprotocol pthread_mutexattr_setpshared pthread_mutexattr_setrobust pthread_mutexattr_settype
    pthread_mutexattr_t pthread_once pthread_once_t pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock
    pthread_rwlock_t pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock
    pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_destroy
    pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared pthread_rwlockattr_init pthread_rwlockattr_setkind_np
    pthread_rwlockattr_setpshared pthread_rwlockattr_t pthread_self pthread_setcancelstate pthread_setcanceltype
    pthread_setschedparam pthread_setschedprio pthread_setspecific pthread_sigmask pthread_spin_destroy
    pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock pthread_spinlock_t pthread_t
    pthread_testcancel putc putc_unlocked putchar putchar_unlocked putenv puts putwc putwchar pwrite qsort_r quad_t
    quick_exit raise rand rand_r random random_r rawmemchr read readdir readdir_r readlink readlinkat reallocarray
    recv recvfrom recvmsg remainder remainderf remainderl remove remquo remquof remquol rename renameat rewind
    rewinddir rindex rint rintf rintl rlim_t rmdir round roundeven roundevenf roundevenl roundf roundl sa_family_t
    sbrk scalb scalbf scalbl scalbln scalblnf scalblnl scalbn scalbnf scalbnl scandir scanf sched_get_priority_max
    sched_get_priority_min sched_getparam sched_getscheduler sched_rr_get_interval sched_setparam sched_setscheduler
    sched_yield secure_getenv select sem_close sem_destroy sem_getvalue sem_init sem_open sem_post sem_t sem_timedwait
    sem_trywait sem_unlink sem_wait send sendmsg sendto setbuf setegid setenv seteuid setgid setitimer setlocale
    setpgid setpriority setrlimit setsid setsockopt setstate settimeofday setuid setvbuf shm_open shm_unlink shutdown
    sig_atomic_t sig_t sigaction sigaddset sigblock sigdelset sigemptyset sigevent_t sigfillset sigismember sigjmp_buf
    siglongjmp signal signgam significand significandf significandl sigpending sigprocmask sigqueue sigset_t
    sigsetmask sigsuspend sigtimedwait sigval_t sigwait sigwaitinfo sincos sincosf sincosl sinhl sinl sleep snprintf
    sockatmark socket socketpair socklen_t sprintf sqrtl srand srandom sscanf ssize_t stack_t stat stpcpy stpncpy
    strcasecmp strcasecmp_l strcasestr strcat strchr strchrnul strcmp strcoll strcoll_l strcpy strcspn strdup strerror
    strerror_l strerror_r strftime strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup strnlen
    strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtoimax strtok strtok_r strtol strtold strtoll
    strtoul strtoull strtoumax strverscmp strxfrm strxfrm_l suseconds_t swab swprintf swscanf symlink symlinkat sync
    syscall sysconf system tanhl tanl tcgetattr tcgetpgrp tcsetpgrp tgamma tgammaf tgammal tgkill thrd_create
    thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_t thrd_yield time time_t timegm timelocal
    timer_create timer_delete timer_getoverrun timer_gettime timer_settime timer_t times timespec_get timezone tmpfile
    tmpnam tolower tolower_l totalorder totalorderf totalorderl totalordermag totalordermagf totalordermagl toupper
    toupper_l towctrans towctrans_l towlower towlower_l towupper towupper_l trunc truncate truncf truncl tss_create
    tss_delete tss_get tss_set tss_t ttyname ttyname_r tzname tzset u_char u_int u_int16_t u_int32_t u_int64_t
    u_int8_t u_long u_quad_t u_short ucontext_t ufromfp ufromfpf ufromfpl ufromfpx ufromfpxf ufromfpxl uid_t uint
    uint_fast16_t uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t
    ulong umask ungetc ungetwc unlink unlinkat unsetenv useconds_t uselocale ushort usleep utime utimensat utimes
    va_list vasprintf vdprintf vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vprintf vscanf vsnprintf vsprintf
    vsscanf vswprintf vswscanf vwprintf vwscanf wait wait3 wait4 waitid waitpid wcpcpy wcpncpy wcrtomb wcscasecmp
    wcscasecmp_l wcscat wcschr wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup wcsftime wcslen wcsncasecmp
    wcsncasecmp_l wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof
    wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcsxfrm wcsxfrm_l wctob wctomb wctrans
    wctrans_l wctrans_t wctype wctype_l wctype_t wint_t wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf write wscanf
    y0 y0f y0l y1 y1f y1l yn ynf ynl";

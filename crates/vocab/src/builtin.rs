//! Events that come from a library function the runtime provides carry its number instead of a source site, and the
//! caller's address beside it. Numbers are positions in this list: append only.

/// Set in a site id that names a library function.
pub const BIT: u32 = 0x8000_0000;

macro_rules! builtins {
    ($($name:ident),* $(,)?) => {
        /// A library function whose effects on persistent memory the runtime knows.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Builtin { $($name),* }
        /// Names, by number.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

builtins!(
    unknown,
    uninstrumented,
    lf_pm,
    lf_flush,
    lf_fence,
    lf_persist,
    lf_alloc,
    lf_free,
    lf_root,
    malloc,
    free,
    calloc,
    realloc,
    memcpy,
    memmove,
    memset,
    memcmp,
    memchr,
    strlen,
    strcpy,
    strncpy,
    strcat,
    strncat,
    strcmp,
    strncmp,
    strchr,
    strrchr,
    strstr,
    strdup,
    sprintf,
    snprintf,
    fread,
    fwrite,
    fgets,
    read,
    write,
    recv,
    readv,
    pmem_persist,
    pmem_flush,
    pmem_drain,
    pmem_msync,
    pmem_memcpy,
    pmem_memmove,
    pmem_memset,
    pmem_deep_persist,
    mmap,
    msync,
    open,
    ftruncate,
    unlink,
    rename,
    close,
    fsync,
    puts,
    printf,
    pthread_lock,
    atoi,
    atof,
    strtol,
    strtod,
    strcasecmp,
    strspn,
    strpbrk,
    strtok,
    strsep,
    memccpy,
    memrchr,
    memmem,
    swab,
    qsort,
    inet_pton,
    sscanf,
    system_call,
    wcslen,
    wcscpy,
    wcscmp,
    wcschr,
    wmemcpy,
    wmemset,
    wmemcmp,
    thread,
    mkdir,
    rmdir,
    readdir,
    pthread_create,
    pthread_join,
    thrd_join,
    munmap,
    mprotect,
    mremap,
    madvise,
    brk,
    sbrk,
    kill,
    killpg,
    sigqueue,
    pthread_kill,
    pthread_sigqueue,
    alarm,
    ualarm,
    setitimer,
    rand,
    srand,
    random,
    srandom,
    lrand48,
    mrand48,
    srand48,
    getenv,
    secure_getenv,
    setenv,
    putenv,
    unsetenv,
    setlocale,
    localtime,
    gmtime,
    ctime,
    asctime,
    hcreate,
    hsearch,
    hdestroy,
    fgetc,
    getc,
    getchar,
    ungetc,
    getline,
    drand48,
    std_tree,
    std_list,
    atexit,
    exit,
    any_value,
    atomic_block,
    assembly,
    lf_ack,
    lf_acked,
    function_return,
    function_entry,
    fork,
);

impl Builtin {
    pub const fn site(self) -> u32 {
        BIT | self as u32
    }
}

/// The function a site id names, if it names one.
pub fn name(site: u32) -> Option<&'static str> {
    if site & BIT == 0 {
        return None;
    }
    NAMES.get((site & !BIT) as usize).copied()
}

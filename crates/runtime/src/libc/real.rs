//! libc's own functions behind the ones the runtime provides, found once at the start.

use crate::state::OneThread;
use core::cell::Cell;

macro_rules! real {
    ($($field:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// One pointer per function.
        #[repr(C, align(4096))]
        pub(crate) struct Real { $($field: Cell<Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>>),* }

        impl Real {
            $(
                #[inline(always)]
                pub(crate) fn $field(&self) -> Option<unsafe extern "C" fn($($argument),*) $(-> $result)?> {
                    self.$field.get()
                }
            )*
        }

        #[unsafe(link_section = "lf_state")]
        static REAL: OneThread<Real> = OneThread(Real { $($field: Cell::new(None)),* });

        /// # Safety
        /// Every name is the name of a function of libc's of that type.
        unsafe fn find_real() {
            let recent = has_c23();
            // SAFETY: what the caller promises.
            unsafe { $( if recent || !stringify!($field).as_bytes().starts_with(b"__isoc23_") {
                let found = libc::dlsym(libc::RTLD_NEXT, concat!(stringify!($field), "\0").as_ptr() as *const _);
                REAL.0.$field.set(core::mem::transmute::<*mut libc::c_void, Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>>(found));
            } )* }
        }
    };
}

pub(crate) type P = *const u8;

/// Does libc have the functions of C23 (glibc 2.38)? Asking `dlsym` for what is not there allocates, in the program's heap.
fn has_c23() -> bool {
    // SAFETY: libc's version is a text that ends in zero.
    unsafe {
        let version = libc::gnu_get_libc_version() as P;
        if *version != b'2' || *version.add(1) != b'.' {
            return true;
        }
        let (mut minor, mut at) = (0u32, version.add(2));
        while (*at).is_ascii_digit() {
            minor = minor * 10 + (*at - b'0') as u32;
            at = at.add(1);
        }
        minor >= 38
    }
}

real! {
    memcpy: fn(*mut u8, P, usize) -> *mut u8;
    memmove: fn(*mut u8, P, usize) -> *mut u8;
    memset: fn(*mut u8, i32, usize) -> *mut u8;
    memcmp: fn(P, P, usize) -> i32;
    memchr: fn(P, i32, usize) -> P;
    strlen: fn(P) -> usize;
    strcmp: fn(P, P) -> i32;
    strncmp: fn(P, P, usize) -> i32;
    strchr: fn(P, i32) -> P;
    strrchr: fn(P, i32) -> P;
    strstr: fn(P, P) -> P;
    fread: fn(*mut u8, usize, usize, usize) -> usize;
    fwrite: fn(P, usize, usize, usize) -> usize;
    fgets: fn(*mut u8, i32, usize) -> *mut u8;
    getdelim: fn(*mut usize, *mut usize, i32, usize) -> isize;
    fputs: fn(P, usize) -> i32;
    puts: fn(P) -> i32;
    vsnprintf: fn(*mut u8, usize, P, *mut u8) -> i32;
    vprintf: fn(P, *mut u8) -> i32;
    vfprintf: fn(usize, P, *mut u8) -> i32;
    atoi: fn(P) -> i32;
    atol: fn(P) -> i64;
    atoll: fn(P) -> i64;
    atof: fn(P) -> f64;
    strtol: fn(P, *mut usize, i32) -> i64;
    strtoll: fn(P, *mut usize, i32) -> i64;
    strtoul: fn(P, *mut usize, i32) -> u64;
    strtoull: fn(P, *mut usize, i32) -> u64;
    __isoc23_strtol: fn(P, *mut usize, i32) -> i64;
    __isoc23_strtoll: fn(P, *mut usize, i32) -> i64;
    __isoc23_strtoul: fn(P, *mut usize, i32) -> u64;
    __isoc23_strtoull: fn(P, *mut usize, i32) -> u64;
    strtod: fn(P, *mut usize) -> f64;
    strtof: fn(P, *mut usize) -> f32;
    strcasecmp: fn(P, P) -> i32;
    strncasecmp: fn(P, P, usize) -> i32;
    memmem: fn(P, usize, P, usize) -> P;
    qsort: fn(*mut u8, usize, usize, usize);
    inet_pton: fn(i32, P, *mut u8) -> i32;
    __isoc99_vsscanf: fn(P, P, *mut u8) -> i32;
    __isoc99_vscanf: fn(P, *mut u8) -> i32;
    __isoc99_vfscanf: fn(usize, P, *mut u8) -> i32;
    pthread_mutex_init: fn(usize, usize) -> i32;
    pthread_mutex_lock: fn(usize, usize) -> i32;
    pthread_mutex_trylock: fn(usize, usize) -> i32;
    pthread_mutex_unlock: fn(usize, usize) -> i32;
    pthread_mutex_destroy: fn(usize, usize) -> i32;
    pthread_rwlock_init: fn(usize, usize) -> i32;
    pthread_rwlock_rdlock: fn(usize, usize) -> i32;
    pthread_rwlock_tryrdlock: fn(usize, usize) -> i32;
    pthread_rwlock_wrlock: fn(usize, usize) -> i32;
    pthread_rwlock_trywrlock: fn(usize, usize) -> i32;
    pthread_rwlock_unlock: fn(usize, usize) -> i32;
    pthread_rwlock_destroy: fn(usize, usize) -> i32;
    pthread_cond_init: fn(usize, usize) -> i32;
    pthread_cond_signal: fn(usize, usize) -> i32;
    pthread_cond_broadcast: fn(usize, usize) -> i32;
    pthread_cond_destroy: fn(usize, usize) -> i32;
    pthread_cond_wait: fn(usize, usize) -> i32;
    pthread_cond_timedwait: fn(usize, usize, usize) -> i32;
    pthread_mutex_timedlock: fn(usize, usize) -> i32;
    pthread_rwlock_timedrdlock: fn(usize, usize) -> i32;
    pthread_rwlock_timedwrlock: fn(usize, usize) -> i32;
    pthread_create: fn(*mut usize, usize, usize, usize) -> i32;
    pthread_join: fn(usize, *mut usize) -> i32;
    pthread_detach: fn(usize) -> i32;
    pthread_exit: fn(usize);
    __pthread_register_cancel: fn(usize);
    __pthread_unregister_cancel: fn(usize);
    __pthread_unwind_next: fn(usize);
    pthread_key_create: fn(*mut u32, usize) -> i32;
    pthread_getspecific: fn(u32) -> usize;
    pthread_setspecific: fn(u32, usize) -> i32;
    mmap: fn(usize, usize, usize, usize, usize, usize) -> usize;
    munmap: fn(usize, usize, usize, usize, usize, usize) -> usize;
    mprotect: fn(usize, usize, usize, usize, usize, usize) -> usize;
    mremap: fn(usize, usize, usize, usize, usize, usize) -> usize;
    madvise: fn(usize, usize, usize, usize, usize, usize) -> usize;
    brk: fn(usize, usize, usize, usize, usize, usize) -> usize;
    sbrk: fn(usize, usize, usize, usize, usize, usize) -> usize;
    raise: fn(i32) -> i32;
    kill: fn(usize, usize, usize, usize, usize, usize) -> usize;
    killpg: fn(usize, usize, usize, usize, usize, usize) -> usize;
    sigqueue: fn(usize, usize, usize, usize, usize, usize) -> usize;
    pthread_kill: fn(usize, usize, usize, usize, usize, usize) -> usize;
    pthread_sigqueue: fn(usize, usize, usize, usize, usize, usize) -> usize;
    alarm: fn(usize, usize, usize, usize, usize, usize) -> usize;
    ualarm: fn(usize, usize, usize, usize, usize, usize) -> usize;
    setitimer: fn(usize, usize, usize, usize, usize, usize) -> usize;
    rand: fn(usize, usize, usize, usize, usize, usize) -> usize;
    srand: fn(usize, usize, usize, usize, usize, usize) -> usize;
    random: fn(usize, usize, usize, usize, usize, usize) -> usize;
    srandom: fn(usize, usize, usize, usize, usize, usize) -> usize;
    lrand48: fn(usize, usize, usize, usize, usize, usize) -> usize;
    mrand48: fn(usize, usize, usize, usize, usize, usize) -> usize;
    srand48: fn(usize, usize, usize, usize, usize, usize) -> usize;
    getenv: fn(usize, usize, usize, usize, usize, usize) -> usize;
    secure_getenv: fn(usize, usize, usize, usize, usize, usize) -> usize;
    setenv: fn(usize, usize, usize, usize, usize, usize) -> usize;
    putenv: fn(usize, usize, usize, usize, usize, usize) -> usize;
    unsetenv: fn(usize, usize, usize, usize, usize, usize) -> usize;
    setlocale: fn(usize, usize, usize, usize, usize, usize) -> usize;
    localtime: fn(usize, usize, usize, usize, usize, usize) -> usize;
    gmtime: fn(usize, usize, usize, usize, usize, usize) -> usize;
    ctime: fn(usize, usize, usize, usize, usize, usize) -> usize;
    asctime: fn(usize, usize, usize, usize, usize, usize) -> usize;
    hcreate: fn(usize, usize, usize, usize, usize, usize) -> usize;
    hsearch: fn(usize, usize, usize, usize, usize, usize) -> usize;
    exit: fn(usize, usize, usize, usize, usize, usize) -> usize;
    __cxa_atexit: fn(usize, usize, usize) -> i32;
    hdestroy: fn(usize, usize, usize, usize, usize, usize) -> usize;
    fgetc: fn(usize, usize, usize, usize, usize, usize) -> usize;
    getc: fn(usize, usize, usize, usize, usize, usize) -> usize;
    getchar: fn(usize, usize, usize, usize, usize, usize) -> usize;
    ungetc: fn(usize, usize, usize, usize, usize, usize) -> usize;
    drand48: fn() -> f64;
    nanosleep: fn(*const libc::timespec, *mut libc::timespec) -> i32;
    usleep: fn(u32) -> i32;
    sleep: fn(u32) -> u32;
    syscall: fn(i64, usize, usize, usize, usize, usize, usize) -> i64;
    _dl_allocate_tls: fn(usize) -> usize;
    __ctype_init: fn();
    __call_tls_dtors: fn();
}

/// Whether the search has begun: what it calls itself finds nothing yet and does without.
#[unsafe(link_section = "lf_state")]
static SEARCHED: OneThread<Searched> = OneThread(Searched(Cell::new(false)));

/// On a page of its own, like all of the section.
#[repr(C, align(4096))]
struct Searched(Cell<bool>);

/// A constructor of a library may come before everything else: the first to ask searches.
#[inline]
pub(crate) fn real() -> &'static Real {
    if !SEARCHED.0.0.get() {
        search();
    }
    &REAL.0
}

#[cold]
fn search() {
    SEARCHED.0.0.set(true);
    // SAFETY: each name is the name of a function of that type.
    unsafe { find_real() };
}

//! libc's own functions behind the ones the runtime provides, found once at the start.

macro_rules! real {
    ($($field:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// One pointer per function.
        #[repr(C)]
        pub(crate) struct Real { $(pub(crate) $field: Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>),* }

        #[unsafe(link_section = "lf_state")]
        static mut REAL: Real = Real { $($field: None),* };

        pub(crate) unsafe fn find_real() {
            $( REAL.$field = core::mem::transmute::<*mut libc::c_void, Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>>(libc::dlsym(
                libc::RTLD_NEXT, concat!(stringify!($field), "\0").as_ptr() as *const _)); )*
        }
    };
}

pub(crate) type P = *const u8;

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
    fputs: fn(P, usize) -> i32;
    puts: fn(P) -> i32;
    vsnprintf: fn(*mut u8, usize, P, *mut u8) -> i32;
    vprintf: fn(P, *mut u8) -> i32;
    vfprintf: fn(usize, P, *mut u8) -> i32;
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
}

pub(crate) unsafe fn real() -> *const Real {
    &raw const REAL
}

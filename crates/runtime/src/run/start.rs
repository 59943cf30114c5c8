//! Taking over: `__libc_start_main` is ours, so that a server stops right before `main`, constructors done (docs/design/runtime.md).

use crate::memory::bytes;
use crate::memory::own::place;
use crate::run::shared::{self, control};
use crate::run::sites;
use crate::state::{Mode, server};
use crate::syscalls::sys;
use core::ffi::CStr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use landfall_vocab::shared::{CONTROL_FD, Control, MAGIC, PROCESSOR, SERVE, TOTAL_LEN, phase};

type Main = unsafe extern "C" fn(i32, *mut *mut u8, *mut *mut u8) -> i32;
type StartMain = unsafe extern "C" fn(Main, i32, *mut *mut u8, usize, usize, usize, usize) -> i32;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: i32,
    argv: *mut *mut u8,
    init: usize,
    fini: usize,
    rtld_fini: usize,
    stack_end: usize,
) -> i32 {
    // SAFETY: done once, before `main`, by the one thread there is.
    unsafe {
        self::init();
        if server().mode.get() == Mode::Constructing {
            settle_guard();
        }
        server().main.set(main as usize);
        let real = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        if real.is_null() {
            sys::say(&[
                b"landfall: this program is linked statically; link it with the shared libc\n",
            ]);
            sys::exit(127);
        }
        let real: StartMain = core::mem::transmute(real);
        real(before_main, argc, argv, init, fini, rtld_fini, stack_end)
    }
}

/// The stack protector's random word, which stays behind in dead stack frames. No frame that checks it is alive here. (The
/// pointer guard beside it stays: constructors may have stored pointers under it.)
fn settle_guard() {
    // SAFETY: no frame that checks it is alive.
    unsafe {
        core::arch::asm!("mov fs:[0x28], {}", in(reg) 0x6c61_6e64_6661_6c00u64, options(nostack, preserves_flags));
    }
}

/// The kernel's sixteen random bytes for the program.
fn settle_random() {
    // SAFETY: the kernel's bytes for the program are sixteen.
    unsafe {
        let bytes = libc::getauxval(libc::AT_RANDOM) as *mut u8;
        if !bytes.is_null() {
            crate::syscalls::random::reset(control().seed.wrapping_add(1));
            crate::syscalls::random::fill(bytes, 16);
        }
    }
}

/// Takes `main`'s place once constructors are done.
unsafe extern "C" fn before_main(argc: i32, argv: *mut *mut u8, environment: *mut *mut u8) -> i32 {
    // SAFETY: libc calls it as `main`, and `main` is what it was given.
    unsafe {
        let main: Main = core::mem::transmute(server().main.get());
        server()
            .arguments
            .set((argc, argv as usize, environment as usize));
        if server().mode.get() == Mode::Constructing {
            crate::run::serve::from_main();
        }
        main(argc, argv, environment)
    }
}

/// `main` on the stack of the run.
pub(crate) unsafe extern "C" fn call_main() -> ! {
    // SAFETY: `main` and its arguments are what libc was given.
    unsafe {
        let main: Main = core::mem::transmute(server().main.get());
        let (argc, argv, environment) = server().arguments.get();
        crate::threads::constructor_locks::take_again();
        libc::exit(main(
            argc,
            argv as *mut *mut u8,
            environment as *mut *mut u8,
        ))
    }
}

/// Sets the runtime up; called at the program's start, or by the first hook if a library's constructor comes earlier.
pub(crate) fn init() {
    if server().mode.get() != Mode::Raw {
        return;
    }
    server().mode.set(Mode::Plain);
    sites::find_own();
    // SAFETY: the function has the type that the dynamic linker calls.
    unsafe { libc::dl_iterate_phdr(Some(first_image), core::ptr::null_mut()) };
    if !crate::memory::shadow::init() {
        sys::say(&[b"landfall: the address range of persistent memory is taken\n"]);
        sys::exit(127);
    }
    crate::libc::real::real();
    if is_server() {
        connect();
    }
}

/// Where the executable lies, and its code: it is the first object the loader lists.
unsafe extern "C" fn first_image(
    info: *mut libc::dl_phdr_info,
    _: usize,
    _: *mut libc::c_void,
) -> i32 {
    // SAFETY: the dynamic linker's record of an image that is mapped.
    unsafe {
        server().exe_base.set((*info).dlpi_addr as usize);
        server().exe_code.set(sites::code_of(info));
        server().exe_end.set(sites::end_of(info));
        1
    }
}

/// Is this code of the executable itself?
pub(crate) fn in_executable(address: usize) -> bool {
    let (low, high) = server().exe_code.get();
    address >= low && address < high
}

/// Is this surely code of ours? We are linked in one piece, so what lies between two functions of ours is.
pub(crate) fn in_runtime(address: usize) -> bool {
    unsafe extern "C" {
        fn lf_yield();
        fn __lf_lfence();
    }
    let known = [
        lf_yield as *const () as usize,
        __lf_lfence as *const () as usize,
        crate::run::call_stack::log_if_changed as *const () as usize,
        in_executable as *const () as usize,
    ];
    known.iter().any(|&known| known <= address) && known.iter().any(|&known| address <= known)
}

/// Is this process a server? What the checker put into the environment for that is taken out: the program must not see it.
fn is_server() -> bool {
    let asked = take_variable(SERVE);
    if asked {
        take_variable(PROCESSOR);
    }
    asked
}

/// Finds and removes a variable of the environment.
fn take_variable(name: &str) -> bool {
    // SAFETY: the environment is a list of texts, null at its end, and no other thread reads it.
    unsafe {
        unsafe extern "C" {
            static mut environ: *mut *mut u8;
        }
        let mut at = environ;
        if at.is_null() {
            return false;
        }
        while !(*at).is_null() {
            let entry = bytes::text(*at, 64);
            if entry
                .strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&b'='))
            {
                let mut next = at;
                while !(*next).is_null() {
                    *next = *next.add(1);
                    next = next.add(1);
                }
                return true;
            }
            at = at.add(1);
        }
        false
    }
}

/// Maps the shared memory. Nothing of the runtime keeps a descriptor open: the program may close them all.
fn connect() {
    // SAFETY: nothing that is mapped already is replaced, and what is mapped is long enough.
    unsafe {
        let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE) as usize;
        let got = sys::raw(
            libc::SYS_mmap,
            [
                place::SHARED,
                TOTAL_LEN as usize,
                all,
                flags,
                CONTROL_FD as usize,
                0,
            ],
        );
        sys::call(libc::SYS_close, [CONTROL_FD as usize]);
        let control = place::SHARED as *mut Control;
        if got as usize != place::SHARED || (*control).magic != MAGIC {
            sys::say(&[b"landfall: no shared memory to serve on\n"]);
            sys::exit(127);
        }
        server().control.set(control);
        if (*control).version != landfall_vocab::VERSION {
            refuse(c"the program was built with another version of landfall: build it again");
        }
        server().options.set((*control).options);
        server().heap_offset.set((*control).heap_offset);
        (*control)
            .exe_base
            .store(server().exe_base.get() as u64, Relaxed);
        settle_random();
        server().blocked.set(crate::syscalls::signals::blocked());
        server().mode.set(Mode::Constructing);
    }
}

/// Tells the checker why this program cannot be served, and leaves.
pub(crate) fn refuse(why: &CStr) -> ! {
    shared::explain(&[why.to_bytes()]);
    control().phase.store(phase::REFUSED, Release);
    shared::wake(&control().phase);
    sys::exit(127)
}

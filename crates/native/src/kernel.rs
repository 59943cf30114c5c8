//! What the kernel must offer for programs to be run under control.

/// A kernel feature, as found on this machine.
#[derive(Clone, Copy, Debug)]
pub struct KernelFeature {
    pub name: &'static str,
    pub present: bool,
    pub purpose: &'static str,
    pub remedy: &'static str,
}

/// Tries every feature in a process of its own, so that nothing sticks to this one.
pub fn kernel_features() -> Vec<KernelFeature> {
    const CONTAINER: &str = "allow it in the container's seccomp profile";
    let feature = |name, purpose, remedy, probe: fn() -> bool| KernelFeature {
        name,
        present: in_child(probe),
        purpose,
        remedy,
    };
    vec![
        feature(
            "personality",
            "runs without address randomisation",
            CONTAINER,
            || {
                // SAFETY: changes only the probing child.
                unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as u64) >= 0 }
            },
        ),
        feature(
            "memfd_create",
            "traces and images pass through shared memory",
            "Linux 3.17 or newer",
            || {
                // SAFETY: the descriptor dies with the child.
                unsafe { libc::memfd_create(c"probe".as_ptr(), 0) >= 0 }
            },
        ),
        feature(
            "syscall user dispatch",
            "every system call of a run is under control",
            "Linux 5.11 or newer",
            || {
                let selector = 0u8; // 0: let everything through
                const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
                // SAFETY: the selector outlives its use: the child leaves right after.
                unsafe {
                    libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &raw const selector) == 0
                }
            },
        ),
        feature(
            "trapping rdtsc",
            "time stamps are virtual",
            "a bare-metal or KVM x86-64 kernel",
            || {
                // SAFETY: changes only the probing child.
                unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) == 0 }
            },
        ),
        feature(
            "fsgsbase",
            "switching threads without a system call",
            "Linux 5.9 or newer",
            || {
                const HWCAP2_FSGSBASE: u64 = 2;
                // SAFETY: reads the auxiliary vector.
                unsafe { libc::getauxval(libc::AT_HWCAP2) & HWCAP2_FSGSBASE != 0 }
            },
        ),
    ]
}

fn in_child(probe: fn() -> bool) -> bool {
    // SAFETY: the child calls one system call and leaves without running anything of ours again.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(!probe()));
        }
        let mut status = 0;
        child > 0 && libc::waitpid(child, &raw mut status, 0) == child && status == 0
    }
}

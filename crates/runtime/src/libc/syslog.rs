//! The system's log. What a program tells it comes back to nobody: a run changes nothing outside itself, so it is dropped. (libc's own
//! would open a socket to a daemon.) What the text is made of is not read either: nothing depends on it.

crate::weak!(
    "openlog" => dropped_log, "closelog" => dropped_log, "syslog" => dropped_log, "vsyslog" => dropped_log,
    "__syslog_chk" => dropped_log, "__vsyslog_chk" => dropped_log,
);

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_dropped_log() {}

//! A program as C or C++ text.

use super::program::{
    At, Flush, Handle, How, LINE, Language, Phase, Program, REGISTERS, Source, Space, Stmt, Update,
    Value, Writer,
};
use std::fmt::Write;

/// How the program ends for each digest of what it observed; anything else is `UNEXPECTED`.
pub(crate) type Ends = Vec<(u64, u8)>;
pub(crate) const UNEXPECTED: u8 = 251;

/// What the program computes of its registers: see `digest` in `HEAD`.
pub(crate) fn digest(failures: usize, outcome: &[u64]) -> u64 {
    let mix = |digest: u64, value: u64| {
        let digest = (digest ^ value).wrapping_mul(0x100_0000_01b3);
        digest ^ digest >> 29
    };
    outcome.iter().fold(
        mix(0xcbf2_9ce4_8422_2325, failures as u64),
        |digest, &value| mix(digest, value),
    )
}

const HEAD: &str = r#"#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <emmintrin.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define _mm_clflushopt(at) __builtin_ia32_clflushopt((void *)(at))
#define _mm_clwb(at) __builtin_ia32_clwb((void *)(at))
#define ANY __attribute__((may_alias))
#define LOOSE __attribute__((may_alias, aligned(1)))
typedef uint8_t ANY u1; typedef uint16_t ANY u2; typedef uint32_t ANY u4; typedef uint64_t ANY u8;
typedef uint16_t LOOSE p2; typedef uint32_t LOOSE p4; typedef uint64_t LOOSE p8;
typedef unsigned __int128 ANY u16; typedef unsigned __int128 LOOSE p16;
#define WIDE(v) ((unsigned __int128)(uint64_t)(v) << 64 | (uint64_t)(v))
static unsigned char *m, v[VOLATILE] __attribute__((aligned(64)));
static uint64_t seen[4][4];
static inline uint64_t fold(unsigned __int128 w) { uint64_t h = w >> 64; return (uint64_t)w ^ (h << 1 | h >> 63); }
static inline uint64_t mix(uint64_t d, uint64_t w) { d = (d ^ w) * 0x100000001b3; return d ^ d >> 29; }
/* How to end: by what was seen. */
static int ending(int failures, int threads, int count, char **arguments) {
  uint64_t d = mix(0xcbf29ce484222325, failures);
  for (int t = 0; t < threads; t++)
    for (int i = 0; i < 4; i++) d = mix(d, seen[t][i]);
"#;

/// How programs know how to end.
pub(crate) enum Knowing<'a> {
    Ends(&'a Ends),
    /// Arguments after the first, which says which program it is: `digest:code` in hexadecimal and decimal.
    Arguments,
}

/// An argument for `Knowing::Arguments`.
pub(crate) fn argument(&(digest, code): &(u64, u8)) -> String {
    format!("{digest:x}:{code}")
}

/// One program, or several of one language of which the first argument chooses one.
pub(crate) fn text(programs: &[&Program], knowing: &Knowing<'_>) -> String {
    let lines = programs.iter().map(|program| program.volatile_lines).max();
    let mut out = format!("#define VOLATILE {}\n", lines.unwrap_or(0).max(1) * LINE);
    let cpp = programs[0].language == Language::Cpp;
    if cpp {
        out += "#include <atomic>\n#include <mutex>\n#include <thread>\n#include <vector>\n";
    }
    out += HEAD;
    match knowing {
        Knowing::Ends(ends) => {
            for (digest, code) in *ends {
                let _ = writeln!(out, "  if (d == {digest:#x}) return {code};");
            }
            let _ = writeln!(out, "  (void)count, (void)arguments;");
        }
        Knowing::Arguments => {
            out += "  for (int i = 2; i < count; i++) {\n    char *rest;\n    \
                    if (strtoull(arguments[i], &rest, 16) == d) return atoi(rest + 1);\n  }\n";
        }
    }
    let _ = writeln!(out, "  return {UNEXPECTED};\n}}");
    out += match cpp {
        false => "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n",
        true => "static std::mutex lock;\n",
    };
    let mut writer = TextWriter {
        cpp,
        data: String::new(),
        count: 0,
    };
    let mut code = String::new();
    for (number, program) in programs.iter().enumerate() {
        writer.constructor(program, &mut code);
        for (phase, what) in program.phases.iter().enumerate() {
            writer.phase(&format!("{number}_{phase}"), what, &mut code);
        }
        start(number, program, &mut code);
    }
    out += &writer.data;
    out += &code;
    out += "int main(int count, char **arguments) {\n";
    out += match knowing {
        Knowing::Ends(_) => "  return start0(count, arguments);\n}\n",
        Knowing::Arguments => "  switch (count > 1 ? atoi(arguments[1]) : 0) {\n",
    };
    if let Knowing::Arguments = knowing {
        for number in 0..programs.len() {
            let _ = writeln!(
                out,
                "  case {number}: return start{number}(count, arguments);"
            );
        }
        out += "  }\n  return 253;\n}\n";
    }
    out
}

/// What main does for one of the programs.
fn start(number: usize, program: &Program, out: &mut String) {
    let _ = writeln!(
        out,
        "static int start{number}(int count, char **arguments) {{"
    );
    let bytes = program.persistent_lines * LINE;
    match program.source {
        Source::Constructor => {}
        Source::Region => {
            let _ = writeln!(out, "  m = (unsigned char *)lf_pm({bytes});");
        }
        Source::Pool => {
            let _ = writeln!(
                out,
                "  int pool = open(\"pool/file\", O_RDWR | O_CREAT, 0600);\n  if (pool < 0 || ftruncate(pool, 4096)) return 252;\n  \
                 m = (unsigned char *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pool, 0);\n  close(pool);"
            );
        }
    }
    *out += "  int failures = lf_failures(), threads = 1;\n  switch (failures) {\n";
    let last = program.phases.len() - 1;
    for (phase, what) in program.phases.iter().enumerate() {
        let label = match phase == last {
            true => "default".to_owned(),
            false => format!("case {phase}"),
        };
        let threads = 1 + what.threads.len();
        let _ = writeln!(
            out,
            "  {label}: phase{number}_{phase}(); threads = {threads}; break;"
        );
    }
    *out += "  }\n  return ending(failures, threads, count, arguments);\n}\n";
}

struct TextWriter {
    cpp: bool,
    /// Constants that functions copy from.
    data: String,
    count: usize,
}

impl TextWriter {
    fn constructor(&mut self, program: &Program, out: &mut String) {
        if program.source != Source::Constructor && program.constructor.is_empty() {
            return;
        }
        *out += match self.cpp {
            false => "__attribute__((constructor)) static void early(void) {\n",
            true => "struct early { early(); };\nstatic early first;\nearly::early() {\n",
        };
        if program.source == Source::Constructor {
            let _ = writeln!(
                out,
                "  m = (unsigned char *)lf_pm({});",
                program.persistent_lines * LINE
            );
        }
        *out += "  if (lf_failures()) return;\n";
        self.list(&program.constructor, 1, out);
        *out += "}\n";
    }

    fn phase(&mut self, number: &str, phase: &Phase, out: &mut String) {
        for (thread, stmts) in phase.threads.iter().enumerate() {
            let thread = thread + 1;
            let _ = match self.cpp {
                true => writeln!(out, "static void thread{number}_{thread}() {{"),
                false => writeln!(out, "static void *thread{number}_{thread}(void *unused) {{"),
            };
            registers(out);
            self.list(stmts, 1, out);
            observe(thread, out);
            *out += if self.cpp {
                "}\n"
            } else {
                "  return unused;\n}\n"
            };
        }
        let _ = writeln!(out, "static void phase{number}(void) {{");
        registers(out);
        self.list(&phase.before, 1, out);
        let threads = 1..=phase.threads.len();
        if !phase.threads.is_empty() {
            *out += match self.cpp {
                true => "  std::vector<std::thread> threads;\n",
                false => "  pthread_t threads[4];\n",
            };
        }
        for thread in threads.clone() {
            let _ = match self.cpp {
                true => writeln!(out, "  threads.emplace_back(thread{number}_{thread});"),
                false => writeln!(
                    out,
                    "  pthread_create(&threads[{thread}], 0, thread{number}_{thread}, 0);"
                ),
            };
        }
        self.list(&phase.meanwhile, 1, out);
        for thread in threads {
            let _ = match self.cpp {
                true => writeln!(out, "  threads[{}].join();", thread - 1),
                false => writeln!(out, "  pthread_join(threads[{thread}], 0);"),
            };
        }
        self.list(&phase.after, 1, out);
        observe(0, out);
        *out += "}\n";
    }

    fn list(&mut self, stmts: &[Stmt], depth: usize, out: &mut String) {
        for stmt in stmts {
            self.stmt(stmt, depth, out);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        match stmt {
            Stmt::If {
                register,
                is,
                then,
                otherwise,
            } => {
                let _ = writeln!(out, "{indent}if (r{register} == {is:#x}ull) {{");
                self.list(then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}}} else {{");
                    self.list(otherwise, depth + 1, out);
                }
                let _ = writeln!(out, "{indent}}}");
            }
            Stmt::Locked(inner) => {
                let _ = match self.cpp {
                    true => writeln!(
                        out,
                        "{indent}{{\n{indent}  std::lock_guard<std::mutex> guard(lock);"
                    ),
                    false => writeln!(out, "{indent}pthread_mutex_lock(&lock);"),
                };
                self.list(inner, depth + 1, out);
                let _ = match self.cpp {
                    true => writeln!(out, "{indent}}}"),
                    false => writeln!(out, "{indent}pthread_mutex_unlock(&lock);"),
                };
            }
            simple => {
                let _ = writeln!(out, "{indent}{}", self.simple(simple));
            }
        }
    }

    fn simple(&mut self, stmt: &Stmt) -> String {
        match *stmt {
            Stmt::Store {
                at,
                size,
                value,
                how,
            } => self.store(at, size, &word(value), how),
            Stmt::Stream { at, size, value } => {
                let (to, value) = (pointer(at), word(value));
                match size {
                    4 => format!("_mm_stream_si32((int *)({to}), (int)({value}));"),
                    8 => format!("_mm_stream_si64((long long *)({to}), (long long)({value}));"),
                    _ => format!(
                        "_mm_stream_si128((__m128i *)({to}), _mm_set1_epi64x((long long)({value})));"
                    ),
                }
            }
            Stmt::Fill { at, length, byte } => {
                format!("memset({}, {byte:#x}, {length});", pointer(at))
            }
            Stmt::Write {
                at,
                ref bytes,
                with,
            } => self.write(at, bytes, with),
            Stmt::Move { to, from, length } => {
                format!("memmove({}, {}, {length});", pointer(to), pointer(from))
            }
            Stmt::Load {
                register,
                at,
                size: 16,
                ..
            } => {
                let kind = if at.offset % 16 == 0 { "u16" } else { "p16" };
                format!("r{register} = fold(*({kind} *)({}));", pointer(at))
            }
            Stmt::Load {
                register,
                at,
                size,
                how,
            } => format!("r{register} = {};", self.load(at, size, how)),
            Stmt::Update {
                register,
                at,
                size,
                with,
                value,
            } => {
                let (name, member) = match with {
                    Update::Add => ("fetch_add", "fetch_add"),
                    Update::Exchange => ("exchange_n", "exchange"),
                    Update::Or => ("fetch_or", "fetch_or"),
                    Update::Xor => ("fetch_xor", "fetch_xor"),
                };
                let (kind, value) = (natural(size), word(value));
                match self.cpp {
                    true => format!(
                        "r{register} = {}->{member}(({kind})({value}));",
                        atomic(at, size)
                    ),
                    false => format!(
                        "r{register} = __atomic_{name}(({kind} *)({}), ({kind})({value}), __ATOMIC_SEQ_CST);",
                        pointer(at)
                    ),
                }
            }
            Stmt::CompareAndSwap {
                register,
                at,
                size,
                expected,
                new,
            } => {
                let (kind, new) = (natural(size), word(new));
                let swap = match self.cpp {
                    true => format!(
                        "{}->compare_exchange_strong(e, ({kind})({new}));",
                        atomic(at, size)
                    ),
                    false => format!(
                        "__atomic_compare_exchange_n(({kind} *)({}), &e, ({kind})({new}), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);",
                        pointer(at)
                    ),
                };
                format!("{{ {kind} e = ({kind}){expected:#x}ull; {swap} r{register} = e; }}")
            }
            Stmt::Flush { with, at } => {
                let name = match with {
                    Flush::Clflush => "_mm_clflush",
                    Flush::Clflushopt => "_mm_clflushopt",
                    Flush::Clwb => "_mm_clwb",
                };
                format!("{name}({});", pointer(at))
            }
            Stmt::FlushRange { at, length } => format!("lf_flush({}, {length});", pointer(at)),
            Stmt::PersistRange { at, length } => format!("lf_persist({}, {length});", pointer(at)),
            Stmt::Sfence => "_mm_sfence();".to_owned(),
            Stmt::Mfence => "_mm_mfence();".to_owned(),
            Stmt::FenceSeqCst => "__atomic_thread_fence(__ATOMIC_SEQ_CST);".to_owned(),
            Stmt::FenceWeak => "__atomic_thread_fence(__ATOMIC_ACQ_REL);".to_owned(),
            Stmt::LocalUpdate { size } => format!(
                "{{ volatile {} local = 1; __atomic_fetch_add(&local, 1, __ATOMIC_RELAXED); }}",
                natural(size)
            ),
            Stmt::StoreHandle { at, what } => {
                let value = match what {
                    Handle::Thread => "(uint64_t)pthread_self()",
                    Handle::Pointer => "(uint64_t)&v[3]",
                    Handle::Function => "(uint64_t)&fold",
                    Handle::Descriptor => "1 + open(\"/dev/null\", O_RDONLY)",
                };
                format!("*(u8 *)({}) = {value};", pointer(at))
            }
            Stmt::LoadHandle { register, at } => {
                format!("r{register} = *(u8 *)({}) != 0;", pointer(at))
            }
            Stmt::If { .. } | Stmt::Locked(_) => String::new(),
        }
    }

    fn store(&self, at: At, size: usize, value: &str, how: How) -> String {
        let to = pointer(at);
        let (kind, natural) = (kind(at, size), natural(size));
        let order = match how {
            How::Plain if size == 16 => return format!("*({kind} *)({to}) = WIDE({value});"),
            How::Plain => return format!("*({kind} *)({to}) = ({natural})({value});"),
            How::Volatile => return format!("*(volatile {kind} *)({to}) = ({natural})({value});"),
            How::Relaxed => ("RELAXED", "relaxed"),
            How::Ordered => ("RELEASE", "release"),
            How::SeqCst => ("SEQ_CST", "seq_cst"),
        };
        match self.cpp {
            true => format!(
                "{}->store(({natural})({value}), std::memory_order_{});",
                atomic(at, size),
                order.1
            ),
            false => format!(
                "__atomic_store_n(({natural} *)({to}), ({natural})({value}), __ATOMIC_{});",
                order.0
            ),
        }
    }

    fn load(&self, at: At, size: usize, how: How) -> String {
        let from = pointer(at);
        let order = match how {
            How::Plain => return format!("*({} *)({from})", kind(at, size)),
            How::Volatile => return format!("*(volatile {} *)({from})", kind(at, size)),
            How::Relaxed => ("RELAXED", "relaxed"),
            How::Ordered => ("ACQUIRE", "acquire"),
            How::SeqCst => ("SEQ_CST", "seq_cst"),
        };
        match self.cpp {
            true => format!("{}->load(std::memory_order_{})", atomic(at, size), order.1),
            false => format!(
                "__atomic_load_n(({} *)({from}), __ATOMIC_{})",
                natural(size),
                order.0
            ),
        }
    }

    fn write(&mut self, at: At, bytes: &[u8], with: Writer) -> String {
        let (to, length) = (pointer(at), bytes.len());
        let name = match with {
            Writer::Strcpy | Writer::Strncpy => {
                let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
                return match with {
                    Writer::Strcpy => format!("strcpy((char *)({to}), \"{text}\");"),
                    _ => format!("strncpy((char *)({to}), \"{text}\", {});", length + 3),
                };
            }
            Writer::Memcpy => "memcpy",
            Writer::Memmove => "memmove",
            Writer::Mempcpy => "mempcpy",
            Writer::Struct => "",
        };
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let number = self.count;
        self.count += 1;
        let _ = writeln!(
            self.data,
            "struct s{number} {{ unsigned char bytes[{length}]; }};\nstatic const struct s{number} d{number} = {{{{{}}}}};",
            list.join(", ")
        );
        match with {
            Writer::Struct => format!("*(struct s{number} *)({to}) = d{number};"),
            _ => format!("{name}({to}, &d{number}, {length});"),
        }
    }
}

fn registers(out: &mut String) {
    let names: Vec<String> = (0..REGISTERS).map(|r| format!("r{r} = 0")).collect();
    let _ = writeln!(out, "  uint64_t {};", names.join(", "));
}

fn observe(thread: usize, out: &mut String) {
    let all: Vec<String> = (0..REGISTERS)
        .map(|r| format!("seen[{thread}][{r}] = r{r};"))
        .collect();
    let _ = writeln!(out, "  {}", all.join(" "));
}

fn pointer(at: At) -> String {
    let base = match at.space {
        Space::Persistent => "m",
        Space::Volatile => "v",
    };
    format!("{base} + {}", at.offset)
}

fn word(value: Value) -> String {
    match value {
        Value::Const(value) => format!("{value:#x}ull"),
        Value::Plus(register, 0) => format!("r{register}"),
        Value::Plus(register, value) => format!("r{register} + {value:#x}ull"),
    }
}

fn natural(size: usize) -> &'static str {
    match size {
        1 => "uint8_t",
        2 => "uint16_t",
        4 => "uint32_t",
        8 => "uint64_t",
        _ => "unsigned __int128",
    }
}

/// A type for a plain access; one that is not aligned has a type of its own.
fn kind(at: At, size: usize) -> String {
    match at.offset % size {
        0 => format!("u{size}"),
        _ => format!("p{size}"),
    }
}

fn atomic(at: At, size: usize) -> String {
    format!(
        "reinterpret_cast<std::atomic<{}> *>({})",
        natural(size),
        pointer(at)
    )
}

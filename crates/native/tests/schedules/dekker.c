// executions: 2: 3
#include "common.h"
_Alignas(64) atomic_int a;
_Alignas(64) atomic_int b;
static void *one(void *_) { store(a, 1); atomic_thread_fence(memory_order_seq_cst); load(b); return 0; }
static void *two(void *_) { store(b, 1); atomic_thread_fence(memory_order_seq_cst); load(a); return 0; }
static void *(*of(int i))(void *) { return i ? two : one; }
static int program(void) { run(2, of); return 0; }

// executions sc: 1: 11, 2: 140, 3: 1698
// executions tso: 1: 11, 2: 153, 3: 2258
// put together
#include "common.h"
_Alignas(64) atomic_int x = 1;
_Alignas(64) atomic_int y = 1;
static void *one(void *_) { for (int i = 0; i < N; i++) store(x, load(x) + load(y)); return 0; }
static void *two(void *_) { for (int i = 0; i < N; i++) store(y, load(x) + load(y)); return 0; }
static void *three(void *_) { load(x); load(y); return 0; }
static void *(*of(int i))(void *) { return i == 0 ? one : i == 1 ? two : three; }
static int program(void) { run(3, of); return 0; }

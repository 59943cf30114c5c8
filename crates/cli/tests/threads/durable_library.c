// What functions of libc store into persistent memory, while others run.
// check: --checks crash
// exit: 0
// check: -DUNFLUSHED --checks crash
// exit: 100
// finds: assertion strcmp
// check: -DUNFLUSHED --checks crash --model sc
// exit: 100
// finds: assertion strcmp
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct memory {
  _Alignas(64) char text[16];
  _Alignas(64) uint64_t number;
  _Alignas(64) _Atomic uint64_t there;
};

static struct memory *memory;
static atomic_int written;

static void *announce(void *unused) {
  if (atomic_load(&written)) {
    memory->there = 1;
    lf_persist(&memory->there, sizeof memory->there);
  }
  return unused;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    if (memory->there)
      assert(strcmp(memory->text, "answer 42") == 0 && memory->number == 42);
    return 0;
  }
  pthread_t other;
  pthread_create(&other, NULL, announce, NULL);
  snprintf(memory->text, sizeof memory->text, "answer %d", 42);
  sscanf("42", "%lu", &memory->number);
#ifndef UNFLUSHED
  lf_persist(memory->text, sizeof memory->text);
#endif
  lf_persist(&memory->number, sizeof memory->number);
  atomic_store(&written, 1);
  pthread_join(other, NULL);
  return 0;
}

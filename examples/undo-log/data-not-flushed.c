/* BROKEN: the log is disarmed before the new balances are durable.
 *
 * Missing: the flushes of `a` and `b` and a fence before `armed` is cleared. Once the log is disarmed nobody repairs the
 * accounts, but one of them can still be the old one: after a power failure money has appeared or vanished. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

enum { TOTAL = 100 };

struct bank {
  _Alignas(64) uint64_t a;
  _Alignas(64) uint64_t b;
  _Alignas(64) uint64_t old_a;
  uint64_t old_b; /* on the same line */
  _Alignas(64) uint64_t armed;
  _Alignas(64) uint64_t open; /* the bank has its capital */
};

static void set(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  lf_persist(word, sizeof *word);
}

static void transfer(struct bank *bank, uint64_t amount) {
  bank->old_a = bank->a;
  bank->old_b = bank->b;
  lf_persist(&bank->old_a, 2 * sizeof bank->old_a);
  set(&bank->armed, 1);
  bank->a -= amount;  //~ lost-a
  bank->b += amount;  //~ lost-b
  __atomic_store_n(&bank->armed, 0, __ATOMIC_RELEASE);  //~ kept
  lf_persist(&bank->armed, sizeof bank->armed);
}

static void recover(struct bank *bank) {
  if (!bank->open) {
    set(&bank->a, TOTAL);
    set(&bank->open, 1);
  }
  if (bank->armed) {
    set(&bank->a, bank->old_a);
    set(&bank->b, bank->old_b);
    set(&bank->armed, 0);
  }
  assert(bank->a + bank->b == TOTAL);  //~ fails
}

int main(void) {
  struct bank *bank = lf_pm(sizeof *bank);
  recover(bank);
  transfer(bank, 10);
  transfer(bank, 5);
  assert(bank->a + bank->b == TOTAL);
  return 0;
}

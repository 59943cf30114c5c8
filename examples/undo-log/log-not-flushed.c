/* BROKEN: the undo log is armed before its content is durable.
 *
 * Missing: lf_persist(&bank->old_a, ...) before the log is armed. `armed` is on a line of its own and can reach memory
 * alone. Recovery then believes the log and puts balances back that were never saved. */
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
  bank->old_a = bank->a;  //~ lost-a
  bank->old_b = bank->b;  //~ lost-b
  __atomic_store_n(&bank->armed, 1, __ATOMIC_RELEASE);  //~ kept
  lf_persist(&bank->armed, sizeof bank->armed);
  bank->a -= amount;
  bank->b += amount;
  lf_flush(&bank->a, sizeof bank->a);
  lf_flush(&bank->b, sizeof bank->b);
  lf_fence();
  set(&bank->armed, 0);
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

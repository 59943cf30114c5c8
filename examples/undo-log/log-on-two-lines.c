/* BROKEN: the two old balances are flushed together, but they are not together. An _Alignas holds for every name of its
 * declaration: `old_a` and `old_b` have a line each, and 16 bytes from `old_a` on are one line.
 *
 * Missing: a declaration of its own for `old_b` (or a flush of its own). Recovery can find the log armed with an old balance
 * that is not there. (This was a mistake of ours: correct.c looked like this until Landfall had checked it.) */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

enum { TOTAL = 100 };

struct bank {
  _Alignas(64) uint64_t a;
  _Alignas(64) uint64_t b;
  _Alignas(64) uint64_t old_a, old_b;
  _Alignas(64) uint64_t armed;
  _Alignas(64) uint64_t open; /* the bank has its capital */
};

static void set(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);  //~ kept
  lf_persist(word, sizeof *word);
}

static void transfer(struct bank *bank, uint64_t amount) {
  bank->old_a = bank->a;
  bank->old_b = bank->b;  //~ lost
  lf_persist(&bank->old_a, 2 * sizeof bank->old_a);
  set(&bank->armed, 1);
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

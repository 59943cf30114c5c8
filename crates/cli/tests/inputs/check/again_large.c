/* Two mistakes that few recoveries show, and twelve lines that nobody flushes and whose loss does no harm: thousands of recoveries differ
 * only in which of them are old. */
#include <assert.h>
#include <landfall.h>

#define LINES 12

struct store {
  _Alignas(64) long made;
  _Alignas(64) long valid;
  _Alignas(64) long cells[LINES][8];
  _Alignas(64) long value;
  _Alignas(64) long committed;
};

int main(void) {
  struct store *s = lf_pm(sizeof *s);
  if (lf_failures()) {
    if (!s->valid)
      return 0;
    assert(s->made);
    long full = 0;
    for (int i = 0; i < LINES; i++)
      full += s->cells[i][0] != 0;
    if (full <= LINES && s->committed)
      assert(s->value);
    return 0;
  }
  s->made = 1;
  for (int i = 0; i < LINES; i++)
    s->cells[i][0] = i + 1;
  s->valid = 1;
  lf_persist(&s->valid, sizeof s->valid);
  s->value = 1;
  s->committed = 1;
  lf_persist(&s->committed, sizeof s->committed);
  return 0;
}

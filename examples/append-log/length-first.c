/* BROKEN: the length is advanced before the text is there.
 *
 * Missing: the order. Every store is flushed and fenced, but if the power fails between the two steps the log claims text
 * that was never written. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>
#include <string.h>

struct log {
  _Alignas(64) uint64_t length;
  _Alignas(64) char text[1024];
};

static void append(struct log *log, const char *text, size_t n) {
  if (n > sizeof log->text - log->length)
    return;
  char *end = log->text + log->length;
  __atomic_store_n(&log->length, log->length + n, __ATOMIC_RELEASE);  //~ last
  lf_persist(&log->length, sizeof log->length);
  memcpy(end, text, n);  //~ copy
  lf_persist(end, n);
}

/* Every entry is 100 letters, an x at both ends. */
static int intact(const struct log *log) {
  for (uint64_t at = 0; at < log->length; at += 100)
    if (log->text[at] != 'x' || log->text[at + 99] != 'x')
      return 0;
  return log->length % 100 == 0;
}

int main(void) {
  struct log *log = lf_pm(sizeof *log);
  assert(intact(log));  //~ fails
  char entry[100];
  memset(entry, '-', sizeof entry);
  entry[0] = entry[99] = 'x';
  append(log, entry, sizeof entry);
  append(log, entry, sizeof entry);
  assert(intact(log));
  return 0;
}

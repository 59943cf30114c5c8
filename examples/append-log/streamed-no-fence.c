/* BROKEN: the text is written with non-temporal stores and the length advanced at once.
 *
 * Missing: _mm_sfence() in between. Non-temporal stores need no flush, but they wait in buffers of their own, and the new
 * length can be durable before them. Recovery reads text that is not there. */
#include <assert.h>
#include <immintrin.h>
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
  for (size_t i = 0; i < n; i += sizeof(long long)) {
    long long word;
    memcpy(&word, text + i, sizeof word);
    _mm_stream_si64((long long *)(end + i), word);  //~ lost
  }
  __atomic_store_n(&log->length, log->length + n, __ATOMIC_RELEASE);  //~ kept
  lf_persist(&log->length, sizeof log->length);
}

/* Every entry is 104 letters, an x at both ends. */
static int intact(const struct log *log) {
  for (uint64_t at = 0; at < log->length; at += 104)
    if (log->text[at] != 'x' || log->text[at + 103] != 'x')
      return 0;
  return log->length % 104 == 0;
}

int main(void) {
  struct log *log = lf_pm(sizeof *log);
  assert(intact(log));  //~ fails
  char entry[104];
  memset(entry, '-', sizeof entry);
  entry[0] = entry[103] = 'x';
  append(log, entry, sizeof entry);
  append(log, entry, sizeof entry);
  assert(intact(log));
  return 0;
}

// atomic
#include <landfall.h>
#include <stdint.h>

struct log {
  _Alignas(64) uint64_t length;
  char text[100];
};
void f(struct log *log, uint64_t n) {
  log->length /*@*/= n;
}
uint64_t g(struct log *log) { return log->length; }

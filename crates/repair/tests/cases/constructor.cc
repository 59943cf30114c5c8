// durable bytes=8
#include <landfall.h>
#include <new>
struct Name {
  const char *text;
  char storage[56];

  explicit Name(char letter) : /*@*/text(storage), storage{letter, 0} {}
};
Name *make() { return new (lf_alloc(sizeof(Name))) Name('a'); }

// expect: assertion lost lost kept kept
// flags: --checks crash
/* A slot counts as being on the line of its bucket's token if the slot *begins* less than 64 bytes before it: the third one begins two
 * bytes before that line (Level Hashing's `is_in_one_cache_line`). */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>
#include <string.h>

struct slot {
  char key[16], value[15];
};

struct bucket {
  struct slot slots[4];
  uint32_t token;
};

static int on_one_line(void *slot, void *token) { return (char *)slot + 64 > (char *)token; }

int main(void) {
  struct bucket *bucket = lf_pm(128);
  struct slot *slot = &bucket->slots[2];
  if (lf_failures()) {
    assert(!(bucket->token & 4) || strcmp(slot->key, "a key") == 0);
    return 0;
  }
  memcpy(slot->key, "a key", 6); //~ lost
  memcpy(slot->value, "a value", 8);
  if (!on_one_line(slot, &bucket->token))
    lf_persist(slot, sizeof *slot);
  bucket->token |= 4; //~ kept
  lf_persist(slot, sizeof *slot);
  lf_persist(&bucket->token, sizeof bucket->token);
  return 0;
}

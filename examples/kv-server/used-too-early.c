/* The slot is marked as used before what is in it is persistent: a client finds half a value, though nothing was promised to it. */
#include "server.h"

static void put(int client, const char *key, const char *value) {
  struct slot *slot = unused();
  if (find(key) || !slot) {
    reply(client, "NO\r\n");
    return;
  }
  slot->used = 1;
  strcpy(slot->key, key);
  strcpy(slot->value, value);
  lf_persist(slot, sizeof *slot);
  send(client, "OK\r\n", 4, MSG_NOSIGNAL);
}

/* A client is told OK when its value is persistent. */
#include "server.h"

static void put(int client, const char *key, const char *value) {
  struct slot *slot = unused();
  if (find(key) || !slot) {
    reply(client, "NO\r\n");
    return;
  }
  strcpy(slot->value, value);
  strcpy(slot->key, key);
  lf_persist(slot, sizeof *slot);
  slot->used = 1;
  lf_persist(&slot->used, sizeof slot->used);
  send(client, "OK\r\n", 4, MSG_NOSIGNAL);
}

// An AVL tree: insertions in a transaction, and where it fails under a lock. Whoever has the lock says so in a word; with the mistake no transaction
// looks at it.
// check: -mrtm --model sc -DK=2 -DN=1
// exit: 0
// check: -mrtm -DK=2 -DN=1
// exit: 0
// check: -mrtm -DK=2 -DN=2 -DDOES_NOT_LOOK --runs 2000
// exit: 100
// finds: data-race
#include "../all_threads.h"
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
    int key, height;
    struct node *below[2];
};

static struct node nodes[K][N];
static struct node *root;
static atomic_int busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int height(const struct node *node) { return node ? node->height : 0; }

static void measure(struct node *node) {
    int left = height(node->below[0]), right = height(node->below[1]);
    node->height = 1 + (left > right ? left : right);
}

static struct node *rotate(struct node *node, int side) {
    struct node *up = node->below[side];
    node->below[side] = up->below[1 - side];
    up->below[1 - side] = node;
    measure(node);
    measure(up);
    return up;
}

static struct node *insert(struct node *tree, struct node *fresh) {
    if (!tree)
        return fresh;
    int side = fresh->key > tree->key;
    tree->below[side] = insert(tree->below[side], fresh);
    measure(tree);
    if (height(tree->below[side]) - height(tree->below[1 - side]) > 1) {
        struct node *child = tree->below[side];
        if (height(child->below[1 - side]) > height(child->below[side]))
            tree->below[side] = rotate(child, 1 - side);
        return rotate(tree, side);
    }
    return tree;
}

static void add(struct node *fresh) {
    if (_xbegin() == _XBEGIN_STARTED) {
#ifndef DOES_NOT_LOOK
        if (atomic_load_explicit(&busy, memory_order_relaxed))
            _xabort(1);
#endif
        root = insert(root, fresh);
        _xend();
    } else {
        pthread_mutex_lock(&lock);
        atomic_store(&busy, 1);
        root = insert(root, fresh);
        atomic_store_explicit(&busy, 0, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *number) {
    long own = (long)number;
    for (int i = 0; i < N; i++) {
        struct node *fresh = &nodes[own][i];
        fresh->key = i * K + own;
        fresh->height = 1;
        add(fresh);
    }
    return 0;
}

static int count(const struct node *tree, int from, int to) {
    if (!tree)
        return 0;
    assert(from <= tree->key && tree->key < to);
    int left = height(tree->below[0]), right = height(tree->below[1]);
    assert(left - right <= 1 && right - left <= 1);
    assert(tree->height == 1 + (left > right ? left : right));
    return 1 + count(tree->below[0], from, tree->key) + count(tree->below[1], tree->key + 1, to);
}

int main(void) {
    all_threads(work, 1);
    assert(count(root, 0, K * N) == K * N);
}

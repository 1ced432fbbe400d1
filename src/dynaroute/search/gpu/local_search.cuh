// Local search of one solution by one warp, for instances whose node numbers fit in a byte.
//
// Routes may be overloaded, at a price per unit. Moves are chosen with 16-bit lengths, so that all legs of an instance
// fit in shared memory; the final cost is exact.
//
// Customer u is moved next to stop v, a near customer or a depot. The names of the other stops:
//
//     ... p - u - x - xx ...        ... q - v - y - yy ...
#pragma once
#include "warp.cuh"

#define BESIDE 20          // near customers that u is moved next to
#define CANDIDATES 32      // stops that u is moved next to: near customers, depots of their routes, an unused depot
#define MOST_MOVES 8000    // per descent, because rounding errors could lead in circles
#define FORBIDDEN 1e12f    // a price of excess that no move can gain
#define DEAREST_EXCESS 1e7f

enum Move {
  RELOCATE_ONE = 1,        // u after v
  RELOCATE_TWO,            // u and x after v
  RELOCATE_TWO_REVERSED,   // x and u after v
  SWAP_ONE_ONE,            // u with v
  SWAP_TWO_ONE,            // u and x with v
  SWAP_TWO_TWO,            // u and x with v and y
  REVERSE_BETWEEN,         // 2-opt
  JOIN_HEADS_AND_TAILS,    // 2-opt*: links u to v, and x to y
  EXCHANGE_TAILS           // 2-opt*: links u to y, and v to x
};

// The instance that the warps of a block share.
struct SharedInstance {
  int* next_child;
  u16* legs;     // (nodes, nodes)
  u8* beside;    // (nodes, BESIDE) customers, nearest first
  int* demands;  // (nodes)
  int size, nodes, slots, own_slots, capacity;
};

// The working memory in which a warp makes a solution.
struct Workspace {
  int* load_upto;  // (nodes + slots) total demand of the route up to this stop
  int* cost;       // (nodes) cost of the routes up to a position of the tour
  int* length;     // (nodes) length of the tour up to a position
  int* load;       // (slots)
  u32* first;      // (nodes) three cheapest positions on another route; shares memory with cost, length and third
  u32* second;     // (nodes)
  u32* third;      // (nodes)
  u16* tested;     // (nodes) number of moves made when a customer was last tried
  u16* changed;    // (slots) number of moves made when a route was last changed
  u16* swapped;    // (slots) number of moves made when a route was last tried with others
  u8* next;        // (nodes + slots)
  u8* prev;
  u8* route;
  u8* position;
  u8* order;       // (nodes) order in which customers are tried
  u8* tour;        // (nodes) all customers
  u8* cut;         // (nodes) start of the route that ends at a position
  u8* is_touched;  // (slots)
};

// Includes the number of the next child, because all shared memory is requested at the launch.
FN int common_bytes(int nodes) { return (4 + 4 * nodes + 2 * nodes * nodes + BESIDE * nodes + 15) / 16 * 16; }

FN SharedInstance shared_at(char* common, int nodes) {
  SharedInstance shared;
  shared.next_child = (int*)common;
  shared.demands = shared.next_child + 1;
  shared.legs = (u16*)(shared.demands + nodes);
  shared.beside = (u8*)(shared.legs + nodes * nodes);
  shared.nodes = nodes;
  return shared;
}

FN Workspace workspace_at(char* scratch, int nodes, int slots) {
  int all = nodes + slots;
  Workspace at;
  at.load_upto = (int*)scratch;
  at.cost = at.load_upto + all;
  at.length = at.cost + nodes;
  at.load = at.length + nodes;
  at.first = (u32*)at.cost;
  at.second = (u32*)at.length;
  at.third = (u32*)(at.load + slots);
  at.tested = (u16*)(at.third + nodes);
  at.changed = at.tested + nodes;
  at.swapped = at.changed + slots;
  at.next = (u8*)(at.swapped + slots);
  at.prev = at.next + all;
  at.route = at.prev + all;
  at.position = at.route + all;
  at.order = at.position + all;
  at.tour = at.order + nodes;
  at.cut = at.tour + nodes;
  at.is_touched = at.cut + nodes;
  return at;
}

FN int leg_of(const SharedInstance& shared, int one, int other) { return shared.legs[one * shared.nodes + other]; }
FN int stop_place(const SharedInstance& shared, int stop) { return stop < shared.nodes ? stop : 0; }

FN float price_excess(int excess, float penalty) {
  float price = (float)larger(excess, 0) * penalty;
  return price < DEAREST_EXCESS ? price : DEAREST_EXCESS;
}

// One lane only: follow a route, and update the data of its stops.
FN void refresh_route(const SharedInstance& shared, const Workspace& at, int route, int moves) {
  int depot = shared.nodes + route, load = 0, count = 0;
  for (int stop = at.next[depot]; stop < shared.nodes; stop = at.next[stop]) {
    load += shared.demands[stop];
    at.load_upto[stop] = load;
    at.route[stop] = (u8)route;
    at.position[stop] = (u8)++count;
  }
  at.load_upto[depot] = 0;
  at.route[depot] = (u8)route;
  at.position[depot] = 0;
  at.load[route] = load;
  at.changed[route] = (u16)moves;
}

FN void refresh_all(const SharedInstance& shared, const Workspace& at) {
  for (int r = LANE; r < shared.slots; r += WIDTH) refresh_route(shared, at, r, 1);
  SYNC();
}

FN u32 find_unused(const SharedInstance& shared, const Workspace& at) {
  u32 unused = NOTHING;
  for (int r = LANE; r < shared.own_slots; r += WIDTH)
    if (at.next[shared.nodes + r] == shared.nodes + r) {
      unused = (u32)r;
      break;
    }
  return LEAST(unused);
}

// The data of u that do not depend on v.
struct Mover {
  int u, p, x, xx, route;
  int at_p, at_x, at_xx;  // rows of legs
  int leg_pu, leg_ux, leg_xxx, bridge_one, bridge_two;
  int demand_u, demand_x, load;
};

struct Choice {
  float gain;
  u32 code;
};

struct Balance {
  int load_u, load_v, excess;  // excess is the load above the capacity
  float penalty;
  bool is_same;
};

FN Mover mover_of(const SharedInstance& shared, const Workspace& at, int u) {
  Mover m;
  m.u = u;
  m.p = at.prev[u];
  m.x = at.next[u];
  m.xx = at.next[m.x];
  m.route = at.route[u];
  m.at_p = stop_place(shared, m.p);
  m.at_x = stop_place(shared, m.x);
  m.at_xx = stop_place(shared, m.xx);
  m.leg_pu = leg_of(shared, u, m.at_p);
  m.leg_ux = leg_of(shared, u, m.at_x);
  m.leg_xxx = leg_of(shared, m.at_x, m.at_xx);
  m.bridge_one = leg_of(shared, m.at_p, m.at_x);
  m.bridge_two = leg_of(shared, m.at_p, m.at_xx);
  m.demand_u = shared.demands[u];
  m.demand_x = shared.demands[m.at_x];
  m.load = at.load[m.route];
  return m;
}

// Keep a move if it gains more: it changes lengths by `change`, and moves load `moved` from v's route to u's.
FN void consider(Choice& best, const Balance& balance, int change, int moved, u32 code) {
  moved = balance.is_same ? 0 : moved;
  int excess = larger(balance.load_u + moved, 0) + larger(balance.load_v - moved, 0) - balance.excess;
  float gain = -((float)change + balance.penalty * (float)excess);
  if (gain >= 1.0f && gain > best.gain) best = Choice{gain, code};
}

FN void look_beside(const SharedInstance& shared, const Workspace& at, const Mover& m, int v, u32 code, float penalty, Choice& best) {
  int q = at.prev[v], y = at.next[v], yy = at.next[y], route = at.route[v];
  int at_q = stop_place(shared, q), at_v = stop_place(shared, v), at_y = stop_place(shared, y), at_yy = stop_place(shared, yy);
  int u = m.u, load_v = at.load[route];
  Balance balance{m.load - shared.capacity, load_v - shared.capacity, 0, penalty, m.route == route};
  balance.excess = larger(balance.load_u, 0) + larger(balance.load_v, 0);
  int demand_v = shared.demands[at_v], demand_y = shared.demands[at_y];
  int uv = leg_of(shared, u, at_v), uy = leg_of(shared, u, at_y), vx = leg_of(shared, m.at_x, at_v);
  int xy = leg_of(shared, m.at_x, at_y), leg_vy = leg_of(shared, at_v, at_y);
  bool has_x = m.at_x != 0;
  if (u != y) {
    consider(best, balance, m.bridge_one - m.leg_pu - m.leg_ux + uv + uy - leg_vy, -m.demand_u, code | RELOCATE_ONE);
    if (has_x && m.x != v) {
      int left = m.bridge_two - m.leg_pu - m.leg_xxx - leg_vy, moved = -m.demand_u - m.demand_x;
      consider(best, balance, left + uv + xy, moved, code | RELOCATE_TWO);
      consider(best, balance, left + vx + uy, moved, code | RELOCATE_TWO_REVERSED);
    }
  }
  if (at_v != 0 && u != q && u != y) {
    int pv = leg_of(shared, m.at_p, at_v), qu = leg_of(shared, u, at_q), leg_qv = leg_of(shared, at_v, at_q);
    int moved = demand_v - m.demand_u;
    int both = pv + qu - m.leg_pu - leg_qv;
    consider(best, balance, both + vx - m.leg_ux + uy - leg_vy, moved, code | SWAP_ONE_ONE);
    if (has_x && m.x != q) {
      moved -= m.demand_x;
      both -= m.leg_xxx;
      consider(best, balance, both + leg_of(shared, m.at_xx, at_v) + xy - leg_vy, moved, code | SWAP_TWO_ONE);
      if (at_y != 0 && y != m.p) {
        int change = both + leg_of(shared, m.at_xx, at_y) + leg_of(shared, m.at_x, at_yy) - leg_of(shared, at_y, at_yy);
        consider(best, balance, change, moved + demand_y, code | SWAP_TWO_TWO);
      }
    }
  }
  int joined = uv + xy - m.leg_ux - leg_vy;
  if (balance.is_same) {
    if (m.x != v && y != u) consider(best, balance, joined, 0, code | REVERSE_BETWEEN);
    return;
  }
  int head_v = at.load_upto[v], tail_u = m.load - at.load_upto[u], tail_v = load_v - head_v;
  consider(best, balance, joined, head_v - tail_u, code | JOIN_HEADS_AND_TAILS);
  consider(best, balance, uy + vx - m.leg_ux - leg_vy, tail_v - tail_u, code | EXCHANGE_TAILS);
}

// The stop of a candidate, or -1: near customers, depots of the nearest customers' routes, and an unused depot.
FN int candidate_stop(const SharedInstance& shared, const Workspace& at, int u, int candidate, u32 unused) {
  if (candidate == CANDIDATES - 1) return unused == NOTHING ? -1 : shared.nodes + (int)unused;
  int rank = candidate < BESIDE ? candidate : candidate - BESIDE;
  if (rank >= shared.size - 1) return -1;
  int near = shared.beside[u * BESIDE + rank];
  return candidate < BESIDE ? near : shared.nodes + at.route[near];
}

// One lane only, like all functions below: link two stops.
FN void link_stops(const Workspace& at, int one, int other) {
  at.next[one] = (u8)other;
  at.prev[other] = (u8)one;
}

FN void put_after(const Workspace& at, int u, int v) {
  link_stops(at, at.prev[u], at.next[u]);
  int after = at.next[v];
  link_stops(at, v, u);
  link_stops(at, u, after);
}

FN void swap_stops(const Workspace& at, int u, int v) {
  int before_u = at.prev[u], after_u = at.next[u], before_v = at.prev[v], after_v = at.next[v];
  link_stops(at, before_u, v);
  link_stops(at, v, after_u);
  link_stops(at, before_v, u);
  link_stops(at, u, after_v);
}

FN void reverse_links(const Workspace& at, int first, int last) {
  for (int stop = first;;) {
    int following = at.next[stop];
    at.next[stop] = at.prev[stop];
    at.prev[stop] = (u8)following;
    if (stop == last) return;
    stop = following;
  }
}

FN void reverse_between(const Workspace& at, int u, int v) {
  int first = at.next[u], after = at.next[v];
  reverse_links(at, first, v);
  link_stops(at, u, v);
  link_stops(at, first, after);
}

FN void join_heads_and_tails(const SharedInstance& shared, const Workspace& at, int u, int v) {
  int depot_u = shared.nodes + at.route[u], depot_v = shared.nodes + at.route[v];
  int x = at.next[u], y = at.next[v], head = at.next[depot_v], tail = at.prev[depot_u];
  if (v != depot_v) {
    reverse_links(at, head, v);
    link_stops(at, u, v);
    link_stops(at, head, depot_u);
  } else {
    link_stops(at, u, depot_u);
  }
  if (x != depot_u) {
    reverse_links(at, x, tail);
    link_stops(at, depot_v, tail);
    link_stops(at, x, y);
  } else {
    link_stops(at, depot_v, y);
  }
}

FN void exchange_tails(const SharedInstance& shared, const Workspace& at, int u, int v) {
  int depot_u = shared.nodes + at.route[u], depot_v = shared.nodes + at.route[v];
  int x = at.next[u], y = at.next[v], last_u = at.prev[depot_u], last_v = at.prev[depot_v];
  if (y != depot_v) {
    link_stops(at, u, y);
    link_stops(at, last_v, depot_u);
  } else {
    link_stops(at, u, depot_u);
  }
  if (x != depot_u) {
    link_stops(at, v, x);
    link_stops(at, last_u, depot_v);
  } else {
    link_stops(at, v, depot_v);
  }
}

FN void make_move(const SharedInstance& shared, const Workspace& at, int move, int u, int v) {
  int x = at.next[u], y = at.next[v];
  switch (move) {
    case RELOCATE_ONE:
      put_after(at, u, v);
      break;
    case RELOCATE_TWO:
      put_after(at, u, v);
      put_after(at, x, u);
      break;
    case RELOCATE_TWO_REVERSED:
      put_after(at, x, v);
      put_after(at, u, x);
      break;
    case SWAP_ONE_ONE:
      swap_stops(at, u, v);
      break;
    case SWAP_TWO_ONE:
      swap_stops(at, u, v);
      put_after(at, x, u);
      break;
    case SWAP_TWO_TWO:
      swap_stops(at, u, v);
      swap_stops(at, x, y);
      break;
    case REVERSE_BETWEEN:
      if (at.position[u] < at.position[v])
        reverse_between(at, u, v);
      else
        reverse_between(at, v, u);
      break;
    case JOIN_HEADS_AND_TAILS:
      join_heads_and_tails(shared, at, u, v);
      break;
    default:
      exchange_tails(shared, at, u, v);
  }
}

FN void shuffle(u8* items, int count, u32 salt) {
  for (int last = count - 1; last > 0; last--) {
    int drawn = below(mix(salt + 0x9e3779b9u * (u32)last), last + 1);
    u8 kept = items[last];
    items[last] = items[drawn];
    items[drawn] = kept;
  }
}

// The stop of a candidate of u; -1 if there is none, or if neither route has changed since it was last tried.
FN int open_candidate(const SharedInstance& shared, const Workspace& at, int u, int candidate, u32 unused, int tested) {
  int v = candidate_stop(shared, at, u, candidate, unused);
  if (v < 0) return -1;
  return at.changed[at.route[u]] > tested || at.changed[at.route[v]] > tested ? v : -1;
}

// Make the best move of u next to its candidates, if one gains; returns whether it did.
FN bool improve_customer(
    const SharedInstance& shared, const Workspace& at, int u, u32 unused, int tested, float penalty, int moves) {
  Mover m;
  bool is_known = false;
  Choice best{0.0f, NOTHING};
  for (int i = LANE; i < CANDIDATES; i += WIDTH) {
    int v = open_candidate(shared, at, u, i, unused, tested);
    if (v < 0) continue;
    if (!is_known) m = mover_of(shared, at, u);
    is_known = true;
    look_beside(shared, at, m, v, (u32)i << 8, penalty, best);
  }
  u32 key = best.code == NOTHING ? NOTHING : ~bits_of(best.gain);
  u32 least = LEAST(key);
  if (least == NOTHING) return false;
  u32 code = LEAST(key == least ? best.code : NOTHING);
  int v = candidate_stop(shared, at, u, (int)(code >> 8), unused), route = at.route[u], other = at.route[v];
  SYNC();
  if (LANE == 0) make_move(shared, at, (int)(code & 255u), u, v);
  SYNC();
  for (int side = LANE; side < 2; side += WIDTH)
    if (side == 0 || other != route) refresh_route(shared, at, side ? other : route, moves + 1);
  SYNC();
  return true;
}

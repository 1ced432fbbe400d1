// SWAP*: two customers of different routes are exchanged; each goes to the best position on the other's route.
//
// Vidal (2022): the best position of a customer is one of the three best positions on the unchanged route, or the
// position of the customer that leaves. Lanes divide the customers of two routes among them, then the pairs.
#pragma once
#include "local_search.cuh"

#define TOUCHING 3               // nearest customers of each customer whose routes are tried with its own
#define INSERTION_BIAS (1 << 22)  // makes keys of possibly negative costs positive

// Pack a cost and the stop to insert after into one number that sorts by cost.
FN u32 pack_insertion(int cost, int stop) { return ((u32)(cost + INSERTION_BIAS) << 8) | (u32)stop; }
FN int insertion_cost(u32 packed) { return (int)(packed >> 8) - INSERTION_BIAS; }
FN int insertion_stop(u32 packed) { return (int)(packed & 255u); }

// One lane only: list the customers of a route.
FN void list_route(const SharedInstance& shared, const Workspace& at, int route, u8* list) {
  for (int stop = at.next[shared.nodes + route]; stop < shared.nodes; stop = at.next[stop]) *list++ = (u8)stop;
}

FN int count_customers(const SharedInstance& shared, const Workspace& at, int route) {
  return at.position[at.prev[shared.nodes + route]];
}

// One lane only: find the three cheapest positions of a customer on another route.
FN void find_insertions(const SharedInstance& shared, const Workspace& at, int customer, int route) {
  int depot = shared.nodes + route, stop = depot, place = 0, leg = leg_of(shared, customer, 0);
  u32 first = NOTHING, second = NOTHING, third = NOTHING;
  do {
    int following = at.next[stop], next_place = stop_place(shared, following);
    int next_leg = leg_of(shared, customer, next_place);
    u32 packed = pack_insertion(leg + next_leg - leg_of(shared, place, next_place), stop);
    u32 worse = packed < first ? first : packed;
    first = packed < first ? packed : first;
    packed = worse;
    worse = packed < second ? second : packed;
    second = packed < second ? packed : second;
    third = worse < third ? worse : third;
    stop = following;
    place = next_place;
    leg = next_leg;
  } while (stop != depot);
  at.first[customer] = first;
  at.second[customer] = second;
  at.third[customer] = third;
}

FN int removal_change(const SharedInstance& shared, const Workspace& at, int customer) {
  int before = stop_place(shared, at.prev[customer]), after = stop_place(shared, at.next[customer]);
  return leg_of(shared, before, after) - leg_of(shared, customer, before) - leg_of(shared, customer, after);
}

// Find the cheapest position of u on the route of v without v.
FN u32 insert_in_absence(const SharedInstance& shared, const Workspace& at, int u, int v) {
  int before = at.prev[v], place = stop_place(shared, before), after = stop_place(shared, at.next[v]);
  u32 direct = pack_insertion(leg_of(shared, u, place) + leg_of(shared, u, after) - leg_of(shared, place, after), before);
  u32 listed = at.first[u];
  if (insertion_stop(listed) == v || insertion_stop(listed) == before) listed = at.second[u];
  if (insertion_stop(listed) == v || insertion_stop(listed) == before) listed = at.third[u];
  bool is_there = listed != NOTHING && insertion_stop(listed) != v && insertion_stop(listed) != before;
  return is_there && insertion_cost(listed) < insertion_cost(direct) ? listed : direct;
}

// Make the best exchange of two customers of two routes, if it gains; returns whether it did.
FN bool swap_best_pair(const SharedInstance& shared, const Workspace& at, int route_u, int route_v, float penalty, int moves) {
  int count_u = count_customers(shared, at, route_u), count_v = count_customers(shared, at, route_v);
  u8* of_u = at.cut;
  u8* of_v = at.cut + count_u;
  SYNC();
  for (int side = LANE; side < 2; side += WIDTH) list_route(shared, at, side ? route_v : route_u, side ? of_v : of_u);
  SYNC();
  for (int i = LANE; i < count_u + count_v; i += WIDTH)
    find_insertions(shared, at, at.cut[i], i < count_u ? route_v : route_u);
  SYNC();
  Balance balance{at.load[route_u] - shared.capacity, at.load[route_v] - shared.capacity, 0, penalty, false};
  balance.excess = larger(balance.load_u, 0) + larger(balance.load_v, 0);
  Choice best{0.0f, NOTHING};
  int row = 0, column = LANE;
  for (;;) {
    while (column >= count_v && row < count_u) {
      column -= count_v;
      row++;
    }
    if (row >= count_u) break;
    int u = of_u[row], v = of_v[column];
    int change = removal_change(shared, at, u) + removal_change(shared, at, v);
    change += insertion_cost(insert_in_absence(shared, at, u, v)) + insertion_cost(insert_in_absence(shared, at, v, u));
    consider(best, balance, change, shared.demands[v] - shared.demands[u], (u32)(u << 8 | v));
    column += WIDTH;
  }
  u32 key = best.code == NOTHING ? NOTHING : ~bits_of(best.gain);
  u32 least = LEAST(key);
  if (least == NOTHING) return false;
  u32 code = LEAST(key == least ? best.code : NOTHING);
  SYNC();
  if (LANE == 0) {
    int u = (int)(code >> 8), v = (int)(code & 255u);
    int place_u = insertion_stop(insert_in_absence(shared, at, u, v)), place_v = insertion_stop(insert_in_absence(shared, at, v, u));
    put_after(at, u, place_u);
    put_after(at, v, place_v);
  }
  SYNC();
  for (int side = LANE; side < 2; side += WIDTH) refresh_route(shared, at, side ? route_v : route_u, moves + 1);
  SYNC();
  return true;
}

// Try a route with its neighbouring routes, unless neither changed since the last trial; returns the moves so far.
FN int swap_with_touching(const SharedInstance& shared, const Workspace& at, int route, int moves, float penalty) {
  int tried = at.swapped[route];
  SYNC();
  for (int r = LANE; r < shared.slots; r += WIDTH) at.is_touched[r] = 0;
  SYNC();
  for (int u = 1 + LANE; u <= shared.size; u += WIDTH) {
    if (at.route[u] != route) continue;
    for (int rank = 0; rank < TOUCHING && rank < shared.size - 1; rank++) at.is_touched[at.route[shared.beside[u * BESIDE + rank]]] = 1;
  }
  if (LANE == 0) at.swapped[route] = (u16)moves;
  SYNC();
  for (int other = route + 1; other < shared.own_slots; other++) {
    if (!at.is_touched[other] || at.next[shared.nodes + route] >= shared.nodes) continue;
    if (at.changed[route] <= tried && at.changed[other] <= tried) continue;
    if (swap_best_pair(shared, at, route, other, penalty, moves)) moves++;
  }
  return moves;
}

// Improve routes until no move gains; the sum of length and priced excess never grows. All lanes.
FN void descend(const SharedInstance& shared, const Workspace& at, float penalty, u32 salt) {
  for (int k = LANE; k < shared.size; k += WIDTH) {
    at.order[k] = (u8)(k + 1);
    at.tested[k + 1] = 0;
  }
  refresh_all(shared, at);
  if (LANE == 0) shuffle(at.order, shared.size, salt);
  SYNC();
  u32 unused = find_unused(shared, at);
  for (int r = LANE; r < shared.slots; r += WIDTH) at.swapped[r] = 0;
  SYNC();
  for (int moves = 1, before = 0; moves > before && moves < MOST_MOVES;) {  // move 1 is the start itself
    before = moves;
    for (int k = 0; k < shared.size; k++) {
      int u = at.order[k], tested = at.tested[u];
      while (moves < MOST_MOVES && improve_customer(shared, at, u, unused, tested, penalty, moves)) {
        tested = moves++;
        unused = find_unused(shared, at);
      }
      SYNC();
      if (LANE == 0) at.tested[u] = (u16)moves;
      SYNC();
    }
    for (int r = 0; r < shared.own_slots; r++)
      if (at.next[shared.nodes + r] < shared.nodes) moves = swap_with_touching(shared, at, r, moves, penalty);
  }
}

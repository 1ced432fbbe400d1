// Ruin and recreate with one warp per chain, and recombination of chains.
//
// J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems", Transportation
// Science 54 (2020).
#pragma once
#include "insertions.cuh"

// The nearest customer on an unmarked route, by the distances in `away`; NOTHING if there is none.
template <class Index>
FN u32 nearest_of(const Problem& problem, const int* away, const Index* route, const u8* marked) {
  u32 least = NOTHING, node = NOTHING;
  for (int u = 1 + LANE; u <= problem.size; u += WIDTH) {
    u32 length = (u32)away[u];
    if (length < least && !marked[route[u]]) {
      least = length;
      node = (u32)u;
    }
  }
  u32 smallest = LEAST(least);
  return LEAST(least == smallest ? node : NOTHING);
}

// The next customer to remove a string around, in the order of the list of near customers.
template <class Index>
FN u32 next_near(const Problem& problem, int centre, int& cursor, const Index* route, const u8* marked) {
  const u16* list = problem.near + (i64)centre * problem.near_count;
  for (; cursor < problem.near_count; cursor += WIDTH) {
    int i = cursor + LANE;
    bool is_open = i < problem.near_count && !marked[route[list[i]]];
    u32 place = LEAST(is_open ? (u32)i : NOTHING);
    if (place != NOTHING) {
      cursor = (int)place + 1;
      return list[place];
    }
  }
  return NOTHING;
}

// Remove strings of customers from neighbouring routes; returns how many were removed. What is left of a route may break
// a rule if ways are not the shortest.
template <class Index, bool BY_LISTS>
FN int ruin(
    const Problem& problem, const Workplace<Index>& at, Draws& draws, int& routes, int& change, bool& is_allowed) {
  const Tour<Index>& tour = at.tour;
  int centre = 1 + below(draw(draws), problem.size);
  for (int r = LANE; r <= problem.slots; r += WIDTH) at.ruined[r] = r == problem.slots;
  if (!BY_LISTS)
    for (int u = 1 + LANE; u <= problem.size; u += WIDTH) at.away[u] = row_of(problem, centre)[u];
  float average = (float)problem.size / (float)routes;
  float longest = average < (float)LONGEST_STRING ? average : (float)LONGEST_STRING;
  float strings = 4.0f * MEAN_REMOVED / (1.0f + longest) - 1.0f;
  int wanted = (int)(1.0f + unit(draw(draws)) * strings), steps = (int)longest + 1;
  int removed = 0, cursor = 0;
  SYNC();
  for (int k = 0; k < wanted; k++) {
    u32 chosen = (u32)centre;
    if (!BY_LISTS)
      chosen = nearest_of(problem, at.away, tour.route, at.ruined);
    else if (k > 0)
      chosen = next_near(problem, centre, cursor, tour.route, at.ruined);
    if (chosen == NOTHING) break;
    int route = tour.route[chosen];
    // the customers around it: one lane goes backwards, another one forwards
    for (int side = LANE; side < 2; side += WIDTH) {
      int node = (int)chosen, count = 0;
      while (count < steps) {
        node = side ? tour.next[node] : tour.prev[node];
        if (node >= problem.nodes) break;
        count++;
        at.window[side ? MIDDLE + count : MIDDLE - count] = (Index)node;
      }
      at.reach[side] = count;
      if (side == 0) at.window[MIDDLE] = (Index)chosen;
    }
    SYNC();
    int back = at.reach[0], forth = at.reach[1], around = back + forth + 1;
    float most = (float)around < longest ? (float)around : longest;
    int count = (int)(1.0f + unit(draw(draws)) * most);
    count = count < around ? count : around;
    u32 coin = draw(draws), where = draw(draws), which = draw(draws);
    bool is_split = count > 1 && count < around && (coin & 1u);  // leave one customer of the string
    int span = count + (is_split ? 1 : 0);
    int earliest = span - 1 - forth > 0 ? span - 1 - forth : 0, latest = span - 1 < back ? span - 1 : back;
    int start = MIDDLE - (earliest + below(where, latest - earliest + 1));
    int kept = is_split ? start + 1 + below(which, span - 2) : -1;
    if (removed + count > MOST_REMOVED) break;
    int before = tour.prev[at.window[start]], after = tour.next[at.window[start + span - 1]];
    int stays = is_split ? (int)at.window[kept] : 0, first_leg = tour.leg[before];
    SYNC();
    int lost = 0, freed = 0;
    for (int i = start + LANE; i < start + span; i += WIDTH) {
      int node = at.window[i];
      lost += tour.leg[node];
      if (i == kept) continue;
      at.removed[removed + i - start - (is_split && i > kept ? 1 : 0)] = (Index)node;
      tour.route[node] = (Index)problem.slots;
      tour.leg[node] = 0;
      freed += problem.demands[node];
    }
    lost = ADD(lost) + first_leg;
    freed = ADD(freed);
    bool is_empty = before == after && !is_split;  // both are the depot
    int to_first = is_empty ? 0 : length_between(problem, route, before, is_split ? stays : after);
    int to_second = is_split ? length_between(problem, route, stays, after) : 0;
    SYNC();
    if (LANE == 0) {
      at.ruined[route] = 1;
      tour.room[route] += freed;
      join(tour, before, is_split ? stays : after, to_first);
      if (is_split) join(tour, stays, after, to_second);
      if (is_empty) tour.route[before] = (Index)problem.slots;
    }
    change += to_first + to_second - lost;
    routes -= is_empty ? 1 : 0;
    removed += count;
    SYNC();
    if (!is_empty || HAS_KINDS) is_allowed &= refresh_route(problem, at, route);
  }
  return removed;
}

// Choose the insertion order: random, largest demand first, farthest first, or nearest first; with time windows also the
// narrowest, earliest or latest first.
template <class Index>
FN void sort_removed(const Problem& problem, const Workplace<Index>& at, int removed, Draws& draws) {
  int kind = below(draw(draws), HAS_TIMES ? 17 : 11);
  u32 salt = draw(draws);
  for (int i = LANE; i < removed; i += WIDTH) {
    int node = at.removed[i];
    u32 first = 0;
    if (kind >= 4 && kind < 8) first = NOTHING - (u32)problem.demands[node];
    if (kind >= 8) first = (u32)(kind < 10 ? BIAS - problem.lengths[node] : problem.lengths[node]);
    if (HAS_TIMES && kind >= 11) {
      int early = problem.rules.early[node], late = problem.rules.late[node];
      first = (u32)(kind < 13 ? late - early : kind < 15 ? early : NEVER - late);
    }
    at.order[i] = ((u64)first << 32) | mix(salt + 0x9e3779b9u * (u32)i);
  }
  SYNC();
  for (int i = LANE; i < removed; i += WIDTH) {
    u64 own = at.order[i];
    int rank = 0;
    for (int j = 0; j < removed; j++) rank += at.order[j] < own || (at.order[j] == own && j < i);
    at.sorted[rank] = at.removed[i];
  }
  SYNC();
}

// Depots are numbered from 2^16, because their node numbers depend on the rest of the batch.
FN bool is_overlooked(const Problem& problem, u32 salt, int node) {
  u32 name = (u32)(node < problem.nodes ? node : node - problem.nodes + 65536);
  return (salt ^ (name * 0x9e3779b9u)) * 0x2c1b3c6du < BLINKS;
}

// Find the cheapest of all positions; `away` contains the distances to the customer.
template <class Index>
FN Place best_of_all(const Problem& problem, const Workplace<Index>& at, int customer, int demand, u32 salt) {
  const Tour<Index>& tour = at.tour;
  const int* row = row_of(problem, customer);
  int all = problem.nodes + problem.slots, to_depot = row[0];
  if (HAS_KINDS) {
    for (int u = LANE; u < all; u += WIDTH) {
      int route = tour.route[u] < problem.slots ? (int)tour.route[u] : 0;
      at.away[u] = row_on(problem, route, customer)[place_of(problem, u)];
    }
  } else {
    for (int u = LANE; u < all; u += WIDTH) at.away[u] = u < problem.nodes ? row[u] : to_depot;
  }
  SYNC();
  Place best{NOTHING, NOTHING};
  for (int u = LANE; u < all; u += WIDTH) {
    if (tour.room[tour.route[u]] < demand || is_overlooked(problem, salt, u)) continue;
    int ahead = ends_open(problem, tour.next[u]) ? 0 : at.away[tour.next[u]];
    prefer_if_allowed(problem, tour, best, at.away[u] + ahead - tour.leg[u], u, customer);
  }
  return agree(best);
}

// Find the cheapest position next to near customers; if there is none, the cheapest of all.
template <class Index>
FN Place best_of_near(const Problem& problem, const Workplace<Index>& at, int customer, int demand, u32 salt) {
  const Tour<Index>& tour = at.tour;
  const u16* list = problem.near + (i64)customer * problem.near_count;
  Place best{NOTHING, NOTHING};
  for (int i = LANE; i < problem.near_count; i += WIDTH) {
    int u = list[i], before = tour.prev[u];
    if (tour.room[tour.route[u]] < demand) continue;
    const int* row = row_on(problem, tour.route[u], customer);
    int to_near = row[u];
    int after = tour.next[u], ahead = ends_open(problem, after) ? 0 : row[place_of(problem, after)];
    if (!is_overlooked(problem, salt, u))
      prefer_if_allowed(problem, tour, best, to_near + ahead - tour.leg[u], u, customer);
    if (!is_overlooked(problem, salt, before))
      prefer_if_allowed(problem, tour, best, to_near + row[place_of(problem, before)] - tour.leg[before], before, customer);
  }
  best = agree(best);
  return best.cost != NOTHING ? best : best_of_all(problem, at, customer, demand, salt);
}

// The first unused depot node; NOTHING if there is none.
template <class Index>
FN u32 first_unused(const Problem& problem, const Tour<Index>& tour) {
  u32 unused = NOTHING;
  for (int r = LANE; r < problem.own_slots; r += WIDTH)
    if (tour.route[problem.nodes + r] == problem.slots) {
      unused = (u32)r;
      break;
    }
  return LEAST(unused);
}

// Whether a depot node is unused, and so is the one before of the same kind, which stands for both.
template <class Index>
FN bool is_another_unused(const Problem& problem, const Tour<Index>& tour, int route) {
  return route > 0 && problem.slot_kinds[route - 1] == problem.slot_kinds[route] &&
         tour.route[problem.nodes + route - 1] == problem.slots;
}

// The unused vehicle that serves a customer alone at the least cost; NOTHING if there is none.
template <class Index>
FN Place cheapest_unused(const Problem& problem, const Tour<Index>& tour, int customer, int demand) {
  Place best{NOTHING, NOTHING};
  for (int r = LANE; r < problem.own_slots; r += WIDTH) {
    int depot = problem.nodes + r;
    if (tour.route[depot] != problem.slots || tour.room[r] < demand || is_another_unused(problem, tour, r)) continue;
    if (!is_allowed_after(problem, tour, r, depot, customer)) continue;
    int out = row_on(problem, r, customer)[0];
    prefer(best, (u32)(out + (ends_open(problem, depot) ? 0 : out) + BIAS), (u32)r);
  }
  return agree(best);
}

// Insert customers, each at its cheapest position; false if that needs another route and there is none.
template <class Index, bool BY_LISTS>
FN bool recreate(
    const Problem& problem, const Workplace<Index>& at, int count, Draws& draws, int& routes, int& change) {
  const Tour<Index>& tour = at.tour;
  float share = 1.0f;  // of the price of another vehicle that counts: now and then one is opened for those to come
  if (HAS_KINDS && (draw(draws) & 7u) == 0) share = unit(draw(draws));
  for (int k = 0; k < count; k++) {
    int customer = at.sorted[k], demand = problem.demands[customer];
    const int* row = row_of(problem, customer);
    u32 salt = draw(draws);
    Place place = BY_LISTS ? best_of_near(problem, at, customer, demand, salt)
                           : best_of_all(problem, at, customer, demand, salt);
    int out = row[0], home = HAS_OPEN && problem.rules.is_open ? 0 : out, used = -1;
    u32 unused = NOTHING, price = (u32)(out + home + BIAS);
    if (HAS_KINDS) {
      Place fresh = cheapest_unused(problem, tour, customer, demand);
      unused = fresh.node;
      price = share < 1.0f && unused != NOTHING ? (u32)((float)(fresh.cost - (u32)BIAS) * share) + (u32)BIAS : fresh.cost;
    }
    if (place.cost == NOTHING || (RULES && place.cost > price)) {
      if (!HAS_KINDS) unused = first_unused(problem, tour);
      if (unused == NOTHING) return false;
      int depot = problem.nodes + (int)unused;
      if (HAS_KINDS) {
        out = row_on(problem, (int)unused, customer)[0];
        home = ends_open(problem, depot) ? 0 : out;
        share = 1.0f;
      }
      SYNC();
      if (LANE == 0) {
        tour.route[depot] = tour.route[customer] = (Index)unused;
        tour.room[unused] -= demand;
        join(tour, depot, customer, out);
        join(tour, customer, depot, home);
      }
      routes += 1;
      change += out + home;
      used = (int)unused;
    } else {
      SYNC();
      if (LANE == 0) {
        int before = (int)place.node, after = tour.next[before], route = tour.route[before];
        const int* own = row_on(problem, route, customer);
        tour.route[customer] = (Index)route;
        tour.room[route] -= demand;
        join(tour, before, customer, own[place_of(problem, before)]);
        join(tour, customer, after, ends_open(problem, after) ? 0 : own[place_of(problem, after)]);
      }
      change += (int)(place.cost - (u32)BIAS);
      used = tour.route[place.node];
    }
    SYNC();
    refresh_route(problem, at, used);
  }
  return true;
}

// One lane only: give a route another vehicle, at an unused depot node.
template <class Index>
FN void move_route(const Problem& problem, const Tour<Index>& tour, int from, int to, int load) {
  int old_depot = problem.nodes + from, depot = problem.nodes + to, last = depot;
  tour.route[depot] = (Index)to;
  for (int node = tour.next[old_depot]; node != old_depot; node = tour.next[node]) {
    tour.route[node] = (Index)to;
    link(problem, tour, to, last, node);
    last = node;
  }
  link(problem, tour, to, last, depot);
  join(tour, old_depot, old_depot, 0);
  tour.route[old_depot] = (Index)problem.slots;
  tour.room[from] += load;
  tour.room[to] -= load;
}

// Give the route of a customer the unused vehicle that costs least; a dearer one only by chance.
template <class Index>
FN void change_vehicle(const Problem& problem, const Workplace<Index>& at, int customer, Draws& draws, int& change) {
  const Tour<Index>& tour = at.tour;
  u32 coin = draw(draws);
  if (coin & 3u) return;
  int route = tour.route[customer], old_depot = problem.nodes + route;
  int load = problem.launch->capacities[row_of_route(problem, route)] - tour.room[route];
  Place best{NOTHING, NOTHING};
  for (int r = LANE; r < problem.own_slots; r += WIDTH) {
    int depot = problem.nodes + r;
    if (tour.route[depot] != problem.slots || tour.room[r] < load || is_another_unused(problem, tour, r)) continue;
    if (problem.slot_kinds[r] == problem.slot_kinds[route]) continue;
    i64 dearer = 0;
    for (int node = old_depot, after; ; node = after) {
      after = tour.next[node];
      dearer += (after == old_depot && ends_open(problem, depot) ? 0 : row_on(problem, r, node)[place_of(problem, after)]);
      dearer -= tour.leg[node];
      if (after == old_depot) break;
    }
    if (dearer > -(i64)BIAS / 2 && dearer < (i64)BIAS / 2) prefer(best, (u32)((int)dearer + BIAS), (u32)r);
  }
  best = agree(best);
  if (best.cost == NOTHING || (best.cost >= (u32)BIAS && (coin & 12u))) return;
  int to = (int)best.node;
  SYNC();
  if (LANE == 0) move_route(problem, tour, route, to, load);
  SYNC();
  bool is_allowed = refresh_route(problem, at, to);
  if (!is_allowed) {
    if (LANE == 0) move_route(problem, tour, to, route, load);
    SYNC();
    refresh_route(problem, at, to);
  } else {
    change += (int)(best.cost - (u32)BIAS);
  }
  refresh_route(problem, at, route);
}

// One lane only: remove a customer from its route.
template <class Index>
FN void unlink_customer(const Problem& problem, const Tour<Index>& tour, int customer) {
  int before = tour.prev[customer], after = tour.next[customer], route = tour.route[customer];
  link(problem, tour, route, before, after);
  tour.room[route] += problem.demands[customer];
  tour.route[customer] = (Index)problem.slots;
  tour.leg[customer] = 0;
  if (before != after) return;
  tour.route[before] = (Index)problem.slots;
  tour.leg[before] = 0;
}

// One lane only: add a route of the other parent, and remove its customers from their routes; false if no route is
// free. `lost` counts the customers that each route of the tour loses.
template <class Index>
FN bool inherit_route(
    const Problem& problem, const Tour<Index>& tour, const Tour<Index>& other, int route, int* lost) {
  int unused = 0;
  while (unused < problem.own_slots &&
         (tour.route[problem.nodes + unused] != problem.slots ||
          (HAS_KINDS && problem.slot_kinds[unused] != problem.slot_kinds[route])))
    unused++;
  if (unused == problem.own_slots) return false;
  for (int node = other.next[problem.nodes + route]; node < problem.nodes; node = other.next[node]) {
    lost[tour.route[node]] += 1;
    unlink_customer(problem, tour, node);
  }
  int depot = problem.nodes + unused, last = depot;
  tour.route[depot] = (Index)unused;
  lost[unused] = 0;
  for (int node = other.next[problem.nodes + route]; node < problem.nodes; node = other.next[node]) {
    tour.route[node] = (Index)unused;
    tour.room[unused] -= problem.demands[node];
    link(problem, tour, unused, last, node);
    last = node;
  }
  link(problem, tour, unused, last, depot);
  return true;
}

// Remove the remaining customers of routes that lost more than they kept, to insert them again; returns how many.
template <class Index>
FN int dissolve(const Problem& problem, const Workplace<Index>& at, int route, int most) {
  const Tour<Index>& tour = at.tour;
  int own = 0;
  for (int u = 1 + LANE; u <= problem.size; u += WIDTH) own += tour.route[u] == route;
  int left = ADD(own);
  if (left >= at.lost[route] || left > most) return 0;
  SYNC();
  if (LANE == 0) {
    int count = 0;
    for (int node = tour.next[problem.nodes + route]; node < problem.nodes;) {
      int after = tour.next[node];
      unlink_customer(problem, tour, node);
      at.sorted[count++] = (Index)node;
      node = after;
    }
  }
  SYNC();
  return left;
}

// Make a child of the tour and another parent: some neighbouring routes of the other, and the tour's own routes without
// their customers. Routes that lost most of their customers are dissolved, and their customers inserted one by one.
// False if there are not enough routes.
template <class Index, bool BY_LISTS>
FN bool recombine(const Problem& problem, const Workplace<Index>& at, u32* parent, Draws& draws) {
  const Tour<Index>& tour = at.tour;
  const Tour<Index> other = tour_at<Index>(parent, problem.nodes, problem.slots);
  for (int r = LANE; r <= problem.slots; r += WIDTH) {
    at.lost[r] = 0;
    at.ruined[r] = r == problem.slots;
  }
  int half = count_routes(problem, other) / 2;
  int centre = 1 + below(draw(draws), problem.size), wanted = 1 + below(draw(draws), half > 0 ? half : 1);
  SYNC();
  for (int k = 0; k < wanted; k++) {
    u32 chosen = nearest_of(problem, row_of(problem, centre), other.route, at.ruined);
    if (chosen == NOTHING) break;
    SYNC();
    if (LANE == 0) {
      int route = other.route[chosen];
      at.ruined[route] = 1;
      at.reach[0] = inherit_route(problem, tour, other, route, at.lost);
    }
    SYNC();
    if (!at.reach[0]) break;
  }
  bool is_allowed = true;
  if (RULES)
    for (int r = 0; r < problem.slots; r++)
      if (tour.route[problem.nodes + r] == r || HAS_KINDS) is_allowed &= refresh_route(problem, at, r);
  if (!is_allowed) return false;
  int routes = 0, change = 0;  // not used: both are counted again
  for (int r = 0; r < problem.slots; r++) {
    SYNC();
    if (at.lost[r] == 0 || tour.route[problem.nodes + r] != r) continue;
    int count = dissolve(problem, at, r, MOST_REMOVED);
    if (HAS_KINDS) refresh_route(problem, at, r);
    if (!recreate<Index, BY_LISTS>(problem, at, count, draws, routes, change)) return false;
  }
  return true;
}

FN Problem problem_of(const Launch& launch, int instance) {
  i64 nodes = launch.nodes;
  int first_row = instance * count_kinds(launch);
  return Problem{
      launch.lengths + first_row * nodes * nodes,
      launch.demands + instance * nodes,
      launch.near + instance * nodes * launch.near_count,
      launch.sizes[instance],
      launch.nodes,
      launch.slots,
      launch.slots_of[instance],
      launch.near_count,
      rules_of(launch, first_row),
      &launch,
      launch.slot_kinds + (i64)instance * launch.slots,
      first_row};
}

FN u64 stream_of(const Launch& launch, int instance, int chain) {
  return mix_64(launch.keys[instance] ^ mix_64(launch.seed + 0x9e3779b97f4a7c15ull * (u64)(chain + 1)));
}

// Choose the other parent: the better of two, neither of which is the chain's own.
FN int choose_parent(const Launch& launch, int instance, int chain, Draws& draws) {
  int first = below(draw(draws), launch.chains - 1), second = below(draw(draws), launch.chains - 1);
  first += first >= chain;
  second += second >= chain;
  const i64* costs = launch.population_costs + (i64)instance * launch.chains;
  return costs[second] < costs[first] ? second : first;
}

FN void store_block(u32* to, const Quad* from, int words) { copy_block((Quad*)to, from, words); }

// Make a child of a chain's best tour and another parent: the tour that starts the next generation.
template <class Index, bool BY_LISTS>
FN void begin_generation(const Launch& launch, int job, char* scratch) {
  int instance = job / launch.chains, chain = job % launch.chains;
  Problem problem = problem_of(launch, instance);
  Workplace<Index> at = workplace_at<Index>(scratch, launch);
  u64 stream = stream_of(launch, instance, chain);
  Draws draws = draws_of(mix_64(stream ^ 0x5bd1e995u), (u32)launch.generation);
  i64 other = (i64)instance * launch.chains + choose_parent(launch, instance, chain, draws);
  u32* own = launch.population + (i64)job * launch.words;
  load_block(at.block, own, launch.words);
  bool is_child = recombine<Index, BY_LISTS>(problem, at, launch.population + other * launch.words, draws);
  SYNC();
  if (!is_child) load_block(at.block, own, launch.words);
  i64 cost = total_of(problem, at.tour);
  store_block(launch.tours + (i64)job * launch.words, at.block, launch.words);
  store_block(launch.found + (i64)job * launch.words, at.block, launch.words);
  if (LANE == 0) launch.tour_costs[job] = launch.found_costs[job] = cost;
}

// Run some iterations of one chain.
template <class Index, bool BY_LISTS>
FN void run_slice(const Launch& launch, int job, int slice, char* scratch) {
  int instance = job / launch.chains;
  Problem problem = problem_of(launch, instance);
  Workplace<Index> at = workplace_at<Index>(scratch, launch);
  u64 stream = stream_of(launch, instance, job % launch.chains);
  float mean_leg = launch.mean_legs[instance];
  u32* found_block = launch.found + (i64)job * launch.words;
  i64 cost = load_cost(launch.tour_costs + job), found = load_cost(launch.found_costs + job);
  load_block(at.block, launch.tours + (i64)job * launch.words, launch.words);
  copy_block(at.backup, at.block, launch.words);
  int routes = count_routes(problem, at.tour), routes_before = routes;
  int from = slice * launch.slice_length, to = from + launch.slice_length < launch.count ? from + launch.slice_length : launch.count;
  for (int i = from; i < to; i++) {
    Draws draws = draws_of(stream, (u32)(launch.first + i));
    int change = 0;
    bool is_allowed = true;
    int removed = ruin<Index, BY_LISTS>(problem, at, draws, routes, change, is_allowed);
    sort_removed(problem, at, removed, draws);
    bool is_whole = recreate<Index, BY_LISTS>(problem, at, removed, draws, routes, change) && is_allowed;
    if (HAS_KINDS && is_whole && removed > 0) change_vehicle(problem, at, at.sorted[0], draws, change);
    int level = (int)((launch.first_level + (u64)i * launch.level_rate) >> 32);
    level = level < launch.levels ? level : launch.levels - 1;
    float allowed = launch.temperatures[level] * mean_leg * exponential(draw(draws));
    SYNC();
    if (is_whole && (float)change < allowed) {
      cost += change;
      routes_before = routes;
      copy_block(at.backup, at.block, launch.words);
      if (cost < found) {
        found = cost;
        store_block(found_block, at.block, launch.words);
      }
    } else {
      routes = routes_before;
      copy_block(at.block, at.backup, launch.words);
    }
  }
  store_block(launch.tours + (i64)job * launch.words, at.block, launch.words);
  if (LANE == 0) {
    launch.tour_costs[job] = cost;
    launch.found_costs[job] = found;
  }
}

// Copy the start of a chain into its tour.
template <class Index>
FN void begin_chain(const Launch& launch, int job) {
  int instance = job / launch.chains, chain = job % launch.chains, nodes = launch.nodes, slots = launch.slots;
  Problem problem = problem_of(launch, instance);
  u32* block = launch.tours + (i64)job * launch.words;
  Tour<Index> tour = tour_at<Index>(block, nodes, slots);
  i64 start = (i64)instance * launch.starts + chain % launch.starts;
  const int* visits = launch.start_visits + start * (nodes - 1);
  const int* routes = launch.start_routes + start * nodes;
  for (int u = LANE; u < nodes + slots; u += WIDTH) {
    tour.leg[u] = 0;
    tour.prev[u] = tour.next[u] = (Index)u;
    tour.route[u] = (Index)slots;
  }
  for (int r = LANE; r <= slots; r += WIDTH)
    tour.room[r] = r < slots ? launch.capacities[HAS_KINDS ? row_of_route(problem, r) : instance] : -1;
  SYNC();
  for (int i = LANE; i < problem.size; i += WIDTH) {
    int node = visits[i], route = routes[node], depot = nodes + route;
    bool is_first = i == 0 || routes[visits[i - 1]] != route;
    bool is_last = i == problem.size - 1 || routes[visits[i + 1]] != route;
    int after = is_last ? depot : visits[i + 1];
    tour.route[node] = (Index)route;
    tour.prev[node] = (Index)(is_first ? depot : visits[i - 1]);
    tour.next[node] = (Index)after;
    tour.leg[node] = length_between(problem, route, node, after);
    if (is_last) tour.prev[depot] = (Index)node;
    if (!is_first) continue;
    tour.route[depot] = (Index)route;
    tour.next[depot] = (Index)node;
    tour.leg[depot] = length_between(problem, route, 0, node);
  }
  SYNC();
  for (int r = LANE; r < slots; r += WIDTH)
    for (int node = tour.next[nodes + r]; node < nodes; node = tour.next[node])
      tour.room[r] -= problem.demands[node];
  SYNC();
  if (RULES)
    for (int r = 0; r < slots; r++)
      if (tour.route[nodes + r] == r || HAS_KINDS) drive_both_ways(problem, tour, r);
  SYNC();
  i64 cost = total_of(problem, tour);
  store_block(launch.found + (i64)job * launch.words, (Quad*)block, launch.words);
  store_block(launch.population + (i64)job * launch.words, (Quad*)block, launch.words);
  if (LANE == 0) launch.tour_costs[job] = launch.found_costs[job] = launch.population_costs[job] = cost;
}

// At the end of a generation: update a chain's best tour in the population.
FN void commit_chain(const Launch& launch, int job) {
  if (launch.found_costs[job] >= launch.population_costs[job]) return;
  SYNC();
  store_block(
      launch.population + (i64)job * launch.words, (Quad*)(launch.found + (i64)job * launch.words), launch.words);
  if (LANE == 0) launch.population_costs[job] = launch.found_costs[job];
}

// Write the best routes of an instance in the form of a RouteBatch. The population must be up to date.
template <class Index>
FN void export_best(const Launch& launch, int instance) {
  int nodes = launch.nodes, slots = launch.slots;
  i64 first = (i64)instance * launch.chains;
  int best = 0;
  for (int chain = 1; chain < launch.chains; chain++)
    if (launch.population_costs[first + chain] < launch.population_costs[first + best]) best = chain;
  Tour<Index> tour = tour_at<Index>(launch.population + (first + best) * launch.words, nodes, slots);
  int* routes = launch.routes_out + (i64)instance * nodes;
  int* positions = launch.positions_out + (i64)instance * nodes;
  for (int u = LANE; u < nodes; u += WIDTH) routes[u] = positions[u] = -1;
  SYNC();
  for (int r = LANE; r < slots; r += WIDTH) {
    if (tour.route[nodes + r] == slots) continue;
    int number = 0, place = 0;
    for (int earlier = 0; earlier < r; earlier++) number += HAS_KINDS || tour.route[nodes + earlier] != slots;
    for (int node = tour.next[nodes + r]; node < nodes; node = tour.next[node]) {
      routes[node] = number;
      positions[node] = place++;
    }
  }
}

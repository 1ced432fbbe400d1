// Hybrid genetic search: crossover, split into routes, local search.
//
// T. Vidal, "Hybrid genetic search for the CVRP: Open-source implementation and SWAP* neighborhood", Computers and
// Operations Research 140 (2022). An island is a population for one instance. One half of it are feasible solutions,
// the other half infeasible ones; each half is stored without gaps. A generation has two launches: in the first, the
// warps of a block make the children of an island; in the second, one warp selects the survivors.
//
// The record of a solution has three parts: all customers, route after route; the stop after each customer; the stop
// before it. 0 is the depot.
#pragma once
#include "local_search.cuh"
#include "ruin_recreate.cuh"
#include "swap_star.cuh"

#define ELITE 4
#define CLOSE 5                   // nearest members that a member's difference is measured from
#define REPAIR_FACTOR 10.0f
#define FIRST_PENALTY 0.4f
#define PENALTY_RISE 1.2f
#define PENALTY_FALL 0.85f
#define PENALTY_RANGE 1000.0f
#define LEG_BITS 9                // bits that 16-bit legs have less than lengths
#define LARGEST_DEMAND (1 << 30)  // total demand of an instance in this search

struct Island {
  float penalty, first_penalty;  // price of one unit of excess load, in the unit of 16-bit legs
  int made;                      // children so far
  int born;                      // children since the population was started
  int idle;                      // children since the last improvement
  int judged, feasible;          // children since the penalty was updated, and how many of them were feasible
  int counts[2];                 // feasible members, and infeasible ones
};

struct Record {
  u8* tour;
  u8* next;
  u8* prev;
};

FN Record record_at(const Launch& launch, u8* records, i64 index) {
  u8* at = records + index * 3 * launch.nodes;
  return Record{at, at + launch.nodes, at + 2 * launch.nodes};
}

FN int half_room(const Launch& launch) { return launch.fewest + launch.generation_size + 1; }
FN i64 member_index(const Launch& launch, int island, int half, int rank) {
  return ((i64)island * 2 + half) * half_room(launch) + rank;
}
FN i64 child_index(const Launch& launch, int island, int child, int kind) {
  return ((i64)island * launch.children_count + child) * 2 + kind;
}

FN void copy_record(const Launch& launch, u8* to, i64 to_index, const u8* from, i64 from_index) {
  int bytes = 3 * launch.nodes;
  for (int i = LANE; i < bytes; i += WIDTH) to[to_index * bytes + i] = from[from_index * bytes + i];
  SYNC();
}

// All warps of a block load the instance.
FN SharedInstance load_shared_instance(const Launch& launch, int instance, char* common) {
  int nodes = launch.nodes;
  SharedInstance shared = shared_at(common, nodes);
  const int* lengths = launch.lengths + (i64)instance * nodes * nodes;
  const u8* beside = launch.beside + (i64)instance * nodes * BESIDE;
  for (int i = BLOCK_LANE; i < nodes * nodes; i += BLOCK_WIDTH) {
    int leg = (lengths[i] + (1 << (LEG_BITS - 1))) >> LEG_BITS;
    shared.legs[i] = (u16)(leg < 65535 ? leg : 65535);
  }
  for (int i = BLOCK_LANE; i < nodes * BESIDE; i += BLOCK_WIDTH) shared.beside[i] = beside[i];
  for (int i = BLOCK_LANE; i < nodes; i += BLOCK_WIDTH) shared.demands[i] = launch.demands[(i64)instance * nodes + i];
  BLOCK_SYNC();
  shared.size = launch.sizes[instance];
  shared.slots = launch.slots;
  shared.own_slots = launch.slots_of[instance];
  int total = launch.total_demands[instance];
  shared.capacity = launch.capacities[instance] < total ? launch.capacities[instance] : total;
  return shared;
}

// Order crossover: keeps a part of one tour, and adds the other customers in the order of the other tour.
FN void cross(const SharedInstance& shared, const Workspace& at, const u8* one, const u8* other, Draws& draws) {
  int size = shared.size, start = below(draw(draws), size), length = 1 + below(draw(draws), size);
  for (int i = LANE; i < size; i += WIDTH) {
    at.order[i] = other[i];
    at.tested[i + 1] = 0;
  }
  SYNC();
  for (int i = LANE; i < length; i += WIDTH) {
    int place = start + i < size ? start + i : start + i - size;
    at.tour[place] = one[place];
    at.tested[one[place]] = 1;
  }
  SYNC();
  if (LANE == 0) {
    int place = start + length < size ? start + length : start + length - size, source = place;
    for (int i = 0; i < size; i++) {
      int customer = at.order[source];
      source = source + 1 < size ? source + 1 : 0;
      if (at.tested[customer]) continue;
      at.tour[place] = (u8)customer;
      place = place + 1 < size ? place + 1 : 0;
    }
  }
  SYNC();
}

// Split the tour into routes with the least length and priced excess; false if there would be too many routes.
FN bool split_tour(const SharedInstance& shared, const Workspace& at, float penalty) {
  int size = shared.size;
  if (LANE == 0) {
    int length = 0, load = 0;
    at.load_upto[0] = at.length[0] = at.cost[0] = 0;
    for (int place = 1; place <= size; place++) {
      int customer = at.tour[place - 1];
      length += place > 1 ? leg_of(shared, at.tour[place - 2], customer) : 0;
      load += shared.demands[customer];
      at.length[place] = length;
      at.load_upto[place] = load;
    }
  }
  SYNC();
  for (int place = 1; place <= size; place++) {
    int upto = at.length[place] + leg_of(shared, 0, at.tour[place - 1]), load = at.load_upto[place];
    Place best{NOTHING, NOTHING};
    for (int cut = place - 1 - LANE; cut >= 0; cut -= WIDTH) {
      int carried = load - at.load_upto[cut];
      if (cut < place - 1 && carried > 2 * shared.capacity) break;
      int cost = at.cost[cut] + leg_of(shared, 0, at.tour[cut]) + upto - at.length[cut + 1];
      prefer(best, (u32)(cost + (int)price_excess(carried - shared.capacity, penalty)), (u32)cut);
    }
    best = agree(best);
    if (LANE == 0) {
      at.cost[place] = (int)best.cost;
      at.cut[place - 1] = (u8)best.node;
    }
    SYNC();
  }
  int used = 0;
  for (int end = size; end > 0; end = at.cut[end - 1]) used++;
  if (used > shared.own_slots) return false;
  for (int r = LANE; r < shared.slots; r += WIDTH) at.next[shared.nodes + r] = at.prev[shared.nodes + r] = (u8)(shared.nodes + r);
  SYNC();
  if (LANE == 0) {
    int route = 0;
    for (int end = size; end > 0; route++) {
      int begin = at.cut[end - 1], stop = shared.nodes + route;
      for (int place = begin; place < end; place++) {
        link_stops(at, stop, at.tour[place]);
        stop = at.tour[place];
      }
      link_stops(at, stop, shared.nodes + route);
      end = begin;
    }
  }
  SYNC();
  return true;
}

// Copy the best routes of a chain.
FN void adopt_chain(const Launch& launch, const SharedInstance& shared, const Workspace& at, i64 chain) {
  Tour<u8> tour = tour_at<u8>(launch.population + chain * launch.words, shared.nodes, shared.slots);
  for (int stop = 1 + LANE; stop < shared.nodes + shared.slots; stop += WIDTH) {
    at.next[stop] = tour.next[stop];
    at.prev[stop] = tour.prev[stop];
  }
  SYNC();
}

// Copy routes that the search started with.
FN void adopt_start(const Launch& launch, const SharedInstance& shared, const Workspace& at, i64 start) {
  const int* visits = launch.start_visits + start * (shared.nodes - 1);
  const int* routes = launch.start_routes + start * shared.nodes;
  for (int r = LANE; r < shared.slots; r += WIDTH) at.next[shared.nodes + r] = at.prev[shared.nodes + r] = (u8)(shared.nodes + r);
  SYNC();
  for (int i = LANE; i < shared.size; i += WIDTH) {
    int stop = visits[i], route = routes[stop], depot = shared.nodes + route;
    if (i == 0 || routes[visits[i - 1]] != route) link_stops(at, depot, stop);
    link_stops(at, stop, i < shared.size - 1 && routes[visits[i + 1]] == route ? visits[i + 1] : depot);
  }
  SYNC();
}

FN void draw_tour(const SharedInstance& shared, const Workspace& at, u32 salt) {
  for (int i = LANE; i < shared.size; i += WIDTH) at.tour[i] = (u8)(i + 1);
  SYNC();
  if (LANE == 0) shuffle(at.tour, shared.size, salt);
  SYNC();
}

// The direction of a position from the depot, as a number that grows with the angle.
FN float direction_of(float x, float y) {
  float reach = (x < 0.0f ? -x : x) + (y < 0.0f ? -y : y);
  float slope = reach > 0.0f ? y / reach : 0.0f;
  return x >= 0.0f ? slope : 2.0f - slope;
}

// Join the routes to a tour, sorted by direction, so that neighbours in the tour are neighbours on the map.
FN void write_record(const Launch& launch, int instance, const SharedInstance& shared, const Workspace& at, const Record& to) {
  float* directions = (float*)at.cost;  // (slots), at most as many as customers
  const float* places = launch.places + (i64)instance * 2 * shared.nodes;
  SYNC();
  for (int r = LANE; r < shared.own_slots; r += WIDTH) {
    float x = 0.0f, y = 0.0f;
    for (int stop = at.next[shared.nodes + r]; stop < shared.nodes; stop = at.next[stop]) {
      x += places[2 * stop];
      y += places[2 * stop + 1];
    }
    directions[r] = direction_of(x, y);
  }
  SYNC();
  for (int r = LANE; r < shared.own_slots; r += WIDTH) {
    int place = 0;
    for (int other = 0; other < shared.own_slots; other++) {
      bool is_before = directions[other] < directions[r] || (directions[other] == directions[r] && other < r);
      place += is_before ? at.position[at.prev[shared.nodes + other]] : 0;
    }
    for (int stop = at.next[shared.nodes + r]; stop < shared.nodes; stop = at.next[stop]) to.tour[place++] = (u8)stop;
  }
  for (int u = 1 + LANE; u <= shared.size; u += WIDTH) {
    to.next[u] = (u8)stop_place(shared, at.next[u]);
    to.prev[u] = (u8)stop_place(shared, at.prev[u]);
  }
  SYNC();
}

FN i64 exact_length(const Launch& launch, int instance, const SharedInstance& shared, const Workspace& at) {
  const int* lengths = launch.lengths + (i64)instance * shared.nodes * shared.nodes;
  i64 sum = 0;
  for (int u = 1 + LANE; u <= shared.size; u += WIDTH) {
    sum += lengths[u * shared.nodes + stop_place(shared, at.next[u])];
    if (at.prev[u] >= shared.nodes) sum += lengths[u];
  }
  return ADD64(sum);
}

FN int total_excess(const SharedInstance& shared, const Workspace& at) {
  int sum = 0;
  for (int r = LANE; r < shared.own_slots; r += WIDTH) sum += larger(at.load[r] - shared.capacity, 0);
  return ADD(sum);
}

FN int draw_member(const Launch& launch, const Island& island, int number, Draws& draws) {
  int drawn = below(draw(draws), island.counts[0] + island.counts[1]);
  return drawn < island.counts[0] ? drawn : half_room(launch) + drawn - island.counts[0];
}

// The fitter of two members.
FN const u8* draw_parent(const Launch& launch, const Island& island, int number, Draws& draws) {
  i64 first = member_index(launch, number, 0, 0);
  int one = draw_member(launch, island, number, draws), other = draw_member(launch, island, number, draws);
  int fitter = launch.fitness[first + one] < launch.fitness[first + other] ? one : other;
  return record_at(launch, launch.members, first + fitter).tour;
}

// How many of these solutions an island gets; they are dealt to the islands of an instance in turn.
FN int count_taken(const Launch& launch, int number, int count) {
  return (count - number % launch.islands + launch.islands - 1) / launch.islands;
}

// The chains' best solutions come first, then the starts if there are several.
FN int count_adopted(const Launch& launch, int number) {
  return count_taken(launch, number, launch.chains) + (launch.starts > 1 ? count_taken(launch, number, launch.starts) : 0);
}

// Make the initial routes of a child, and set the price of excess; false if there are none.
FN bool conceive(
    const Launch& launch, const SharedInstance& shared, const Workspace& at, const Island& island, int number, int child,
    Draws& draws, float& penalty) {
  int born = island.born + child, adopted = count_adopted(launch, number);
  int of_chains = count_taken(launch, number, launch.chains), offset = number % launch.islands;
  i64 instance = number / launch.islands;
  if (born < of_chains) {
    adopt_chain(launch, shared, at, instance * launch.chains + born * launch.islands + offset);
    penalty = FORBIDDEN;  // it is feasible and must stay so
    return true;
  }
  penalty = island.penalty;
  if (born < adopted) {
    adopt_start(launch, shared, at, instance * launch.starts + (born - of_chains) * launch.islands + offset);
    return true;
  }
  int drawn = launch.starts > 1 ? 0 : launch.drawn_count;  // different starts are better members than random ones
  if (born < adopted + drawn || island.counts[0] + island.counts[1] == 0) {
    draw_tour(shared, at, draw(draws));
  } else {
    const u8* one = draw_parent(launch, island, number, draws);
    const u8* other = draw_parent(launch, island, number, draws);
    cross(shared, at, one, other, draws);
  }
  return split_tour(shared, at, penalty);
}

// Make one child of an island, in two versions: after local search, and after a second one that removes excess load.
FN void make_child(const Launch& launch, const SharedInstance& shared, int number, int child, char* scratch) {
  int instance = number / launch.islands;
  i64 index = child_index(launch, number, child, 0);
  if (LANE == 0) launch.child_lengths[index] = launch.child_lengths[index + 1] = -1;
  if (launch.total_demands[instance] >= LARGEST_DEMAND) return;
  Island island = launch.island_states[number];
  Workspace at = workspace_at(scratch, shared.nodes, shared.slots);
  u64 stream = stream_of(launch, instance, number % launch.islands);
  Draws draws = draws_of(mix_64(stream ^ 0x27d4eb2fu), (u32)(island.made + child));
  float penalty = 0.0f;
  if (!conceive(launch, shared, at, island, number, child, draws, penalty)) return;
  for (int kind = 0; kind < 2; kind++) {
    descend(shared, at, penalty, draw(draws));
    int excess = total_excess(shared, at);
    if (kind == 0 || excess == 0) {
      i64 length = exact_length(launch, instance, shared, at);
      write_record(launch, instance, shared, at, record_at(launch, launch.children, index + kind));
      if (LANE == 0) {
        launch.child_lengths[index + kind] = length;
        launch.child_excess[index + kind] = excess;
      }
    }
    if (excess == 0 || (draw(draws) & 1u)) return;
    penalty *= REPAIR_FACTOR;
  }
}

// The working memory in which a warp selects survivors.
struct Registry {
  i64* costs;     // (half_room) costs of the members of a half
  int* apart;     // (half_room) their difference from the nearest members
  int* fitness;   // (half_room) lower is fitter
  u8* is_clone;   // (half_room)
};

FN Registry registry_at(char* scratch, int room) {
  Registry at;
  at.costs = (i64*)scratch;
  at.apart = (int*)(at.costs + room);
  at.fitness = at.apart + room;
  at.is_clone = (u8*)(at.fitness + room);
  return at;
}

FN u8* difference_at(const Launch& launch, int number, int half, int one) {
  int room = half_room(launch);
  return launch.differences + (((i64)number * 2 + half) * room + one) * room;
}

// Count the customers whose next stop is not adjacent in the other solution, and likewise the starts of routes.
FN int count_broken(int size, const Record& one, const Record& other) {
  int broken = 0;
  for (int u = 1 + LANE; u <= size; u += WIDTH) {
    int following = one.next[u], other_following = other.next[u], other_leading = other.prev[u];
    broken += following != other_following && following != other_leading;
    broken += one.prev[u] == 0 && other_leading != 0 && other_following != 0;
  }
  return ADD(broken);
}

// Sum the differences from the CLOSE nearest members, or from all if there are fewer.
FN int measure_apart(const u8* row, int own, int count, u8& is_clone) {
  int nearest[CLOSE];
  for (int i = 0; i < CLOSE; i++) nearest[i] = 256;
  for (int other = 0; other < count; other++) {
    int value = other == own ? 256 : row[other];
    for (int i = 0; i < CLOSE; i++) {
      int kept = nearest[i] < value ? nearest[i] : value;
      value = nearest[i] < value ? value : nearest[i];
      nearest[i] = kept;
    }
  }
  int sum = 0;
  for (int i = 0; i < CLOSE; i++) sum += nearest[i] < 256 ? nearest[i] : 0;
  is_clone = nearest[0] == 0;
  return sum;
}

// Compute the fitness of the members of a half from their ranks in cost and difference.
FN void rank_half(const Launch& launch, const Island& island, int number, int half, const Registry& at) {
  int count = island.counts[half], weight = count - (count < ELITE ? count : ELITE);
  i64 first = member_index(launch, number, half, 0);
  SYNC();
  for (int i = LANE; i < count; i += WIDTH) {
    float price = (float)launch.member_excess[first + i] * (island.penalty * (float)(1 << LEG_BITS));
    at.costs[i] = launch.member_lengths[first + i] + (i64)(price < 1e15f ? price : 1e15f);
    at.apart[i] = measure_apart(difference_at(launch, number, half, i), i, count, at.is_clone[i]);
  }
  SYNC();
  for (int i = LANE; i < count; i += WIDTH) {
    int cheaper = 0, more_apart = 0;
    for (int other = 0; other < count; other++) {
      bool is_cheaper = at.costs[other] < at.costs[i] || (at.costs[other] == at.costs[i] && other < i);
      cheaper += is_cheaper;
      more_apart += at.apart[other] > at.apart[i] || (at.apart[other] == at.apart[i] && is_cheaper);
    }
    at.fitness[i] = cheaper == 0 ? -1 : cheaper * count + more_apart * weight;
    launch.fitness[first + i] = (float)(cheaper * count + more_apart * weight) / (float)(count * (count > 1 ? count - 1 : 1));
  }
  SYNC();
}

// Find the least fit member, never the best one; clones come first.
FN int find_least_fit(int count, const Registry& at) {
  Place worst{NOTHING, NOTHING};
  for (int i = LANE; i < count; i += WIDTH) {
    if (at.fitness[i] < 0) continue;
    prefer(worst, (u32)((1 << 30) - at.fitness[i] - (at.is_clone[i] ? 1 << 29 : 0)), (u32)i);
  }
  return (int)agree(worst).node;
}

// Remove a member; the last member of the half takes its place.
FN void remove_member(const Launch& launch, Island& island, int number, int half, int gone) {
  int last = --island.counts[half];
  i64 first = member_index(launch, number, half, 0);
  if (gone == last) return;
  copy_record(launch, launch.members, first + gone, launch.members, first + last);
  for (int other = LANE; other < last; other += WIDTH) {
    u8 difference = other == gone ? 0 : difference_at(launch, number, half, last)[other];
    difference_at(launch, number, half, gone)[other] = difference;
    difference_at(launch, number, half, other)[gone] = difference;
  }
  if (LANE == 0) {
    launch.member_lengths[first + gone] = launch.member_lengths[first + last];
    launch.member_excess[first + gone] = launch.member_excess[first + last];
  }
  SYNC();
}

// Add a child; if its half gets too large, remove the least fit members.
FN void add_child(const Launch& launch, Island& island, int number, i64 child, const Registry& at) {
  int half = launch.child_excess[child] > 0, size = launch.sizes[number / launch.islands], own = island.counts[half]++;
  i64 first = member_index(launch, number, half, 0);
  copy_record(launch, launch.members, first + own, launch.children, child);
  Record record = record_at(launch, launch.members, first + own);
  for (int other = 0; other < own; other++) {
    int broken = count_broken(size, record, record_at(launch, launch.members, first + other));
    if (LANE == 0) {
      u8 difference = (u8)(broken < 255 ? broken : 255);
      difference_at(launch, number, half, own)[other] = difference_at(launch, number, half, other)[own] = difference;
    }
  }
  if (LANE == 0) {
    launch.member_lengths[first + own] = launch.child_lengths[child];
    launch.member_excess[first + own] = launch.child_excess[child];
  }
  SYNC();
  if (island.counts[half] <= launch.fewest + launch.generation_size) return;
  while (island.counts[half] > launch.fewest) {
    rank_half(launch, island, number, half, at);
    remove_member(launch, island, number, half, find_least_fit(island.counts[half], at));
  }
}

FN void adapt_penalty(const Launch& launch, Island& island) {
  if (island.judged < launch.penalty_period) return;
  if (island.feasible * 5 <= island.judged)  // between a fifth and a quarter should be feasible
    island.penalty *= PENALTY_RISE;
  else if (island.feasible * 4 >= island.judged)
    island.penalty *= PENALTY_FALL;
  float lowest = island.first_penalty / PENALTY_RANGE, highest = island.first_penalty * PENALTY_RANGE;
  island.penalty = island.penalty < lowest ? lowest : island.penalty > highest ? highest : island.penalty;
  island.judged = island.feasible = 0;
}

// End a generation of an island: add its children, and remove the least fit members.
FN void select_survivors(const Launch& launch, int number, char* scratch) {
  Registry at = registry_at(scratch, half_room(launch));
  Island island = launch.island_states[number];
  i64 best = launch.champion_lengths[number];
  SYNC();
  for (int child = 0; child < launch.children_count; child++) {
    i64 index = child_index(launch, number, child, 0);
    island.idle++;
    for (int kind = 0; kind < 2; kind++) {
      i64 length = launch.child_lengths[index + kind];
      if (length < 0) continue;
      bool is_feasible = launch.child_excess[index + kind] == 0;
      if (kind == 0) {
        island.judged++;
        island.feasible += is_feasible;
      }
      if (is_feasible && (best < 0 || length < best)) {
        best = length;
        island.idle = 0;
        copy_record(launch, launch.champions, number, launch.children, index + kind);
      }
      add_child(launch, island, number, index + kind, at);
    }
  }
  adapt_penalty(launch, island);
  for (int half = 0; half < 2; half++) rank_half(launch, island, number, half, at);
  island.made += launch.children_count;
  island.born += launch.children_count;
  if (island.idle >= launch.patience) {  // start a new population, without the chains' solutions
    island.counts[0] = island.counts[1] = island.idle = 0;
    island.born = count_adopted(launch, number);
  }
  SYNC();
  if (LANE == 0) {
    launch.island_states[number] = island;
    launch.champion_lengths[number] = best;
  }
}

// Start an island without members.
FN void settle_island(const Launch& launch, int number) {
  int instance = number / launch.islands, size = launch.sizes[instance];
  const int* lengths = launch.lengths + (i64)instance * launch.nodes * launch.nodes;
  i64 outward = 0;
  for (int u = 1 + LANE; u <= size; u += WIDTH) outward += lengths[u];
  outward = ADD64(outward);
  if (LANE != 0) return;
  int demand = launch.total_demands[instance];
  float away = (float)(outward >> LEG_BITS), all = (float)(demand > size ? demand : size);
  Island island{};
  island.penalty = island.first_penalty = FIRST_PENALTY * (away > 1.0f ? away : 1.0f) / all;
  launch.island_states[number] = island;
  launch.champion_lengths[number] = -1;
}

// Write the best solution of an instance's islands, if it is better than that of the chains, which is written already.
FN void export_champion(const Launch& launch, int instance) {
  i64 length = launch.population_costs[(i64)instance * launch.chains];
  for (int chain = 1; chain < launch.chains; chain++) {
    i64 found = launch.population_costs[(i64)instance * launch.chains + chain];
    length = found < length ? found : length;
  }
  int best = -1;
  for (int number = instance * launch.islands; number < (instance + 1) * launch.islands; number++) {
    i64 found = launch.champion_lengths[number];
    if (found < 0 || found >= length) continue;
    length = found;
    best = number;
  }
  if (best < 0 || LANE != 0) return;
  Record record = record_at(launch, launch.champions, best);
  int route = -1, place = 0;
  for (int i = 0; i < launch.sizes[instance]; i++) {
    int customer = record.tour[i];
    route += record.prev[customer] == 0;
    place = record.prev[customer] == 0 ? 0 : place + 1;
    launch.routes_out[(i64)instance * launch.nodes + customer] = route;
    launch.positions_out[(i64)instance * launch.nodes + customer] = place;
  }
}

"""Words in headings that ask for what Dynaroute does not plan, in English, German, French and Spanish."""

from __future__ import annotations

from typing import Literal, NamedTuple

# What the values must say: something at all, a number above 0, not the same for all, a number above 1 or a word,
# a place other than the depot, or "no".
Values = Literal["something", "number", "different", "several", "elsewhere", "no"]


class Kind(NamedTuple):
    """A kind of request: what it is, and the headings that ask for it.

    In `words`, commas separate words and slashes separate languages. A heading asks for it if it contains one of them;
    a star stands for any letters. `whole` are headings that ask for it only if they say nothing else.
    """

    what: str
    values: Values
    words: str
    whole: str = ""
    hint: str = ""


_FOR_ALL_VEHICLES = "For all vehicles together, use --speed."
OF_ALL = (
    Kind(
        "a break",
        "something",
        "break, breaks, lunch*, rest time, rest period / *pause, *pausen, *pausenzeit*, ruhezeit*, rast / repos, "
        "déjeuner / pausa, pausas, descanso*, almuerzo",
    ),
    Kind(
        "a priority",
        "something",
        "priority, priorities, prio, prios, urgency, urgent, asap, express, importance, important, vip / *priorität*, "
        "*prio, dringend, dringlichkeit, eilig, eilt, *eilauftrag, wichtig, wichtigkeit / priorité*, urgence / "
        "prioridad*, urgencia, urgente, importante",
        "rank, ranking / rang",
    ),
    Kind(
        "a skill or licence",
        "something",
        "skill, skills, *qualification*, competence*, capability, capabilities, licence, licences, license, "
        "licenses / qualifikation*, fähigkeit*, kompetenz*, führerschein*, fahrerlaubnis* / compétence*, permis / "
        "habilidad*, competencia*, carné, carnet, permiso*, licencia*",
    ),
    Kind(
        "a requirement of equipment",
        "something",
        "tail lift, taillift, liftgate, equipment, refrigerat*, cooling, cooled, cold chain, chilled, frozen, "
        "temperature*, hazmat, hazardous, adr / hebebühne*, ladebordwand*, ausrüstung*, ausstattung*, kühlung*, "
        "gekühlt*, kühlware, tiefkühl*, temperatur*, gefahrgut* / hayon*, équipement*, frigo*, froid, surgelé*, "
        "réfrigér*, température*, matières dangereuses / plataforma elevadora, equipamiento*, frío, congelado*, "
        "refrigerad*, temperatura*, mercancías peligrosas",
    ),
    Kind(
        "a compartment",
        "something",
        "compartment*, commodity, commodities, incompatib*, compatib* / *kammer, *kammern, *verträglich* / "
        "compartiment* / compartimento*, compartimiento*",
    ),
    Kind(
        "a permitted or forbidden combination",
        "something",
        "allowed*, forbidden*, excluded*, prohibited*, restriction*, *restricted / erlaubt*, verboten*, "
        "gesperrt*, ausgeschlossen*, *restriktion*, *beschränkung*, *einschränkung*, zufahrt*, durchfahrt* / "
        "autorisé*, interdit* / permitid*, prohibid*, restricción*, restriccion*",
    ),
    Kind(
        "a speed of its own",
        "number",
        "speed*, *speed, velocity, kmh, mph / *geschwindigkeit*, tempo / vitesse* / velocidad*",
        "km h",
        hint=_FOR_ALL_VEHICLES,
    ),
    Kind(
        "a further time at a stop",
        "number",
        "setup time, loading time, parking time, turnaround* / *rüstzeit*, *ladezeit*, parkzeit* / "
        "temps de chargement, temps de préparation / tiempo de carga, tiempo de preparación",
        "setup, loading",
    ),
    Kind(
        "a crew",
        "something",
        "crew, helper, helpers, two man, 2 man / beifahrer*, helfer*, 2 mann, zwei mann / équipage / ayudante*",
    ),
)
OF_PROBLEMS = (
    Kind("a further depot", "something", "depots", "depot"),
    Kind("an objective", "something", "objective, objectives", hint="Give it as the option objective."),
    Kind("a number of trips", "something", "reload*, *reloads"),
    Kind("an order of stops", "something", "pairs"),
    Kind("a matrix", "something", "*matrix, *matrices", hint="Call it distances, or durations if it holds times."),
)
OF_STOPS = (
    Kind("an order of unloading", "something", "lifo, fifo, last in first out / / / "),
    Kind(
        "a pickup",
        "something",
        "pickup*, pick up*, collect, collection, collections, return, returns, backhaul*, linehaul* / *abhol*, "
        "*rückhol*, *retoure*, *rücknahme*, leergut*, *rückgabe / collecte*, enlèvement*, ramassage*, reprise*, "
        "retours / recogida*, recolecci*, devoluci*, retirada*",
        "retour",
    ),
    Kind(
        "a group of stops",
        "something",
        "cluster*, same route, same vehicle, together with / stoppgruppe*, liefergruppe*, tourgruppe*, "
        "tourengruppe*, zusammen mit / groupe de livraison, groupe d'arrêts, ensemble avec / grupo de entrega, "
        "junto con",
        "group, groups, group id, group no, group name, stop group, route group, delivery group / gruppe, "
        "gruppen, gruppe nr, gruppen nr, gruppennummer / groupe, groupes / grupo, grupos",
    ),
    Kind(
        "a vehicle or driver of its own",
        "something",
        "vehicle, vehicles, truck, trucks, van, vans, lorry, lorries, fleet, driver, drivers / *fahrzeug*, lkw*, "
        "*lkw, fahrer*, stammfahrer*, wunschfahrer*, transporter*, kennzeichen / véhicule*, camion*, chauffeur*, "
        "conducteur* / vehículo*, camión, camiones, furgoneta*, conductor*, matrícula",
    ),
    Kind(
        "a release time",
        "number",
        "release*, available from, ready at depot / freigabe*, verfügbar ab, bereitstellung*, bereit ab / "
        "disponible à partir*, disponible dès, date de disponibilité, libération / disponible desde, disponible a "
        "partir*, liberación, fecha de disponibilidad",
    ),
    Kind(
        "a time when it is closed",
        "something",
        "closed, closing*, closure* / geschlossen*, sperrzeit*, schließzeit*, ruhetag*, schließtag* / fermé*, "
        "jour de fermeture, fermeture hebdomadaire / cerrado, cierre semanal",
    ),
    Kind(
        "an order of stops",
        "something",
        "precedence*, predecessor*, successor*, must follow, must precede, linked to, paired with / vorgänger*, "
        "nachfolger* / prédécesseur*, précédence* / predecesor*, precedencia*",
    ),
    Kind(
        "a prize or penalty",
        "number",
        "prize*, profit*, *penalty, *penalties / *strafe*, strafkosten, *prämie*, gewinn* / pénalité* / "
        "penalizaci*, multa*, premio*, beneficio*",
    ),
    Kind(
        "an optional stop",
        "something",
        "optional*, skippable / freiwillig*, verzichtbar* / optionnel*, facultatif*, facultative* / opcional*",
    ),
    Kind(
        "an optional stop",
        "different",
        "mandatory, must visit, obligatory / pflicht, pflichtstopp*, pflichtbesuch*, verpflichtend* / "
        "obligatoire* / obligatori*",
    ),
    Kind("an optional stop", "no", "mandatory, obligatory / verpflichtend* / obligatoire* / obligatori*", "required"),
    Kind("a cancelled stop", "something", "cancelled, canceled / storn* / annulé*, annulation / anulad*, cancelad*"),
    Kind(
        "one of several depots",
        "different",
        "start depot, end depot, home depot / startdepot, zieldepot / dépôt de départ / depósito de salida",
        "depot id, depot no, depot name, depot number, warehouse, hub / depot nr, depotnummer, lager, "
        "lagerstandort, niederlassung / entrepôt, dépôt / almacén, bodega, depósito",
    ),
    Kind(
        "one of several days",
        "different",
        "delivery date, delivery day, service date, visit date, visit day, weekday, day of week / liefertermin, "
        "lieferdatum, liefertag, anliefertermin, wunschtermin, wochentag / date de livraison, jour de livraison, "
        "jour de la semaine / fecha de entrega, día de entrega, día de la semana",
        "date, day, week / datum, tag, woche / jour, semaine / fecha, día, semana",
    ),
    Kind(
        "a frequency of visits",
        "several",
        "frequency, visits / frequenz, *häufigkeit*, *rhythmus*, turnus*, besuche / fréquence* / frecuencia*, visitas",
    ),
    Kind(
        "a split delivery",
        "something",
        "split*, partial delivery / teilbar*, teillieferung* / fractionn*, livraison partielle / divisible, "
        "entrega parcial",
    ),
    Kind(
        "a limit of its own",
        "number",
        "max, maximum, maximal*, minimum, minimal*, min demand, demand min, min quantity, quantity min, min qty, "
        "limit, limits, ride time / mindest*, höchst*, min menge, menge min / máx, máximo, máxima, mínimo, mínima, "
        "límite / limite*",
    ),
)
OF_VEHICLES = (
    Kind(
        "a service time of its own",
        "number",
        "service factor*, service time* / servicefaktor*, servicezeit* / facteur de service, temps de service / factor "
        "de servicio, tiempo de servicio",
    ),
    Kind("a profile of travel times", "something", "travel profile / fahrprofil / / ", "profile / profil / / perfil"),
    Kind(
        "a cost of vehicles",
        "number",
        "*cost, *costs, price*, fee, fees, wage*, salary, salaries, rate, rates, toll*, eur, euro, euros, usd, "
        "gbp, chf, per km, per hour, hourly / *kosten*, *preis*, *lohn, *gehalt, *satz, maut*, *tarif, *tarife, "
        "pro km, pro stunde / coût*, prix, salaire*, péage*, par km, par heure / coste*, costo*, precio*, tarifa*, "
        "salario*, peaje*, por km, por hora",
    ),
    Kind(
        "a number of trips",
        "something",
        "reload*, *reloads, refill* / nachlad*, wiederbelad* / rechargement* / recarga*",
    ),
    Kind(
        "a number of trips",
        "several",
        "trips, tours, rotations, max trips / beladungen, "
        "touren*, *fahrten, umläufe, runden / tournées, voyages / viajes, rondas",
    ),
    Kind(
        "a limit on energy",
        "number",
        "battery*, energy, charging*, fuel*, tank*, consumption / batterie*, akku*, energie*, *verbrauch, "
        "tankinhalt / carburant*, consommation / batería*, combustible*, consumo, energía",
    ),
    Kind(
        "a start or end away from the depot",
        "elsewhere",
        "home, base, home base, garage, start location, start place, start address, start depot, start lat, start "
        "lon, end location, end address, end depot, end lat, end lon, start x, start y, end x, end y / startort*, "
        "zielort*, endort*, standort*, heimat*, wohnort*, startadresse, zieladresse, abstellort*, betriebshof / "
        "domicile, lieu de départ, lieu d'arrivée, point de départ, adresse de départ / domicilio, lugar de "
        "salida, lugar de llegada, punto de salida",
        "start, starts, depot, depot id, depot name, depots, location, position, address, lat, lon, latitude, "
        "longitude, x, y / startpunkt, lager, ort, adresse, breitengrad, längengrad / dépôt, entrepôt, adresse / "
        "depósito, almacén",
    ),
    Kind(
        "an area of vehicles",
        "something",
        "zone, zones, area, areas, region, regions, territor*, district* / *gebiet*, bezirk*, revier* / secteur*, "
        "région / zona, zonas, sector*, región",
    ),
    Kind(
        "a working day",
        "something",
        "weekday*, days / wochentag*, *tage / jours / días",
    ),
    Kind(
        "a vehicle that is not used",
        "no",
        "active, enabled, in use, available, availability / aktiv, einsatzbereit, im einsatz, verfügbar, "
        "verfügbarkeit / actif, en service, disponible, disponibilité / activo, en servicio, disponibilidad",
    ),
    Kind(
        "a vehicle that is not used",
        "something",
        "out of service, broken, defective / defekt, außer betrieb, gesperrt / hors service, en panne / fuera de "
        "servicio, averiado",
    ),
    Kind(
        "a minimum",
        "number",
        "min, minimum*, minimal* / mindest* / mínimo, mínima",
    ),
    Kind(
        "a limit on working time",
        "number",
        "overtime, amplitude*, working hours*, hours per*, driving time*, time limit, max time*, max hours*, max "
        "driving*, max working*, max shift* / *arbeitszeit*, *lenkzeit*, überstunden*, stunden pro*, max zeit*, max "
        "stunden*, *fahrzeit*, *höchstzeit*, *einsatzdauer*, *tourdauer* / temps de travail*, temps max*, durée*, "
        "heures* / tiempo de trabajo*, tiempo max*, horas*, duración*, jornada*",
        hint="If it is the longest time from departure to the end, call the column max_duration.",
    ),
    Kind(
        "a limit on the distance",
        "number",
        "daily km, km per*, km limit, mileage, max miles, max mileage / tageskilometer, max kilometer*, km pro "
        "tag, *streckenlimit / kilométrage, km max*, km par jour / kilometraje, km máx*, km por día",
        hint="If it is the longest route, call the column max_distance.",
    ),
    Kind(
        "a limit on the number of stops",
        "number",
        "*stops*, drops, customers, orders per*, deliveries / *stopps*, *kunden*, *aufträge* / arrêts*, clients*, "
        "livraisons / paradas*, clientes*, entregas*",
        hint="If it is the most customers on a route, call the column max_stops.",
    ),
    Kind(
        "a second capacity",
        "number",
        "*capacity*, *capacities, payload, load, loads, max load, volume*, weight*, pallet*, boxes, crates, parcels, "
        "kg, m3, cbm / *beladung*, *kapazität*, *nutzlast*, *zuladung*, *volumen*, gewicht*, palette*, stellplätze, "
        "kisten, ladung / capacité*, charge*, poids, palettes, colis / capacidad*, carga*, peso*, palés, palets, cajas",
    ),
    Kind(
        "a working time",
        "number",
        "*shift*, available from, available to, available until, latest return, return by, back by, latest departure, "
        "earliest departure / *schicht*, dienst*, verfügbar ab, verfügbar bis, einsatzzeit*, rückkehr bis, "
        "rückkehrzeit, späteste rückkehr, feierabend, späteste abfahrt, abfahrt ab / disponible à partir*, disponible "
        "de, disponible jusqu*, retour avant, heure de retour, départ au plus t* / turno*, disponible desde, "
        "disponible hasta, regreso antes, hora de regreso",
        hint="If it is when it may work, call the columns shift_start and shift_end.",
    ),
    Kind(
        "a limit",
        "number",
        "max, maximum*, maximal*, limit, limits / höchst*, *limit / limite* / máx, máximo, máxima, límite",
    ),
)
DESCRIPTIVE = (
    "detail, note, notes, *comment*, remark*, memo, info*, *info, infos, instruction*, phone*, telephone*, tel, "
    "fax, mail, email, contact*, plate, plates, colour, color, last, previous, odometer, credit / notiz*, "
    "*hinweis*, *bemerkung*, anmerkung*, *kommentar*, telefon*, handy*, kontakt*, ansprechpartner*, farbe, "
    "letzte*, kreditlimit, mindestbestell*, kilometerstand, eigengewicht, leergewicht, *gesamtgewicht, anweisung* "
    "/ remarque*, commentaire*, téléphone*, consigne*, dernier*, dernière*, couleur, immatriculation / nota, "
    "notas, observaci*, comentario*, teléfono*, último*, última*, contacto*"
)
KINDS_OF_STOPS = (
    "type*, kind*, role, *type, p d, d p, activity, action, operation, task, job, mode, direction, order / art, *art, "
    "typ, *typ, rolle, vorgang*, tätigkeit*, aktion, aufgabe, richtung, auftrag, bewegung, modus, leistung / genre, "
    "rôle, activité, opération, mouvement, sens, tâche, nature / tipo*, clase, rol, actividad, operación, "
    "movimiento, tarea"
)
VALUES_OF_KINDS = (
    (
        "a pickup",
        "*pickup*, *pick up*, pu, p, collect, *collection, return, returns, backhaul / *abholung*, abholen, "
        "*rückholung*, retoure*, rücknahme, leergut / collecte*, enlèvement*, ramassage*, reprise, retour / "
        "recogida*, recoger, recolección, devolución, retirada",
    ),
    ("a break", "break, lunch*, rest / *pause, rast / repos / pausa, descanso"),
    ("an optional stop", "optional / freiwillig / optionnel, facultatif / opcional"),
)
WINDOWS = (
    "window, windows, time window*, timewindow*, tw, tws, time slot*, timeslot*, slot, opening hours, opening "
    "times, open hours, deadline*, ready time, due time, not before, not after / *zeitfenster*, *fenster, "
    "*lieferzeit*, *annahmezeit*, *öffnungszeit*, frist, frühestens, spätestens / fenêtre*, créneau*, plage*, "
    "horaires, au plus tôt, au plus tard / ventana*, franja*, horario*"
)
TIMES = "time, arrival time / zeit, uhrzeit / heure / hora"
ARRIVALS = (
    "delivery, deliver by, deliver before, arrival, appointment / *lieferung, ankunft*, *termin, zustellung / "
    "livraison, livrer avant, avant, arrivée, rendez vous, rdv / entrega, antes de, llegada, cita"
)
NUMBERING = (  # what tells one time window of a stop from another
    "first, second, third, other, alternative, alternate, morning, afternoon, evening, am, pm, monday, tuesday, "
    "wednesday, thursday, friday, saturday, sunday / erste, erstes, zweite, zweites, dritte, drittes, anderes, "
    "alternativ, alternatives, vormittag, vormittags, nachmittag, nachmittags, morgens, abends, montag, dienstag, "
    "mittwoch, donnerstag, freitag, samstag, sonntag, mo, di, mi, do, fr, sa, so / premier, première, deuxième, "
    "second, seconde, autre, matin, après midi, soir, lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche / "
    "primero, primera, segundo, segunda, otro, otra, mañana, tarde, lunes, martes, miércoles, jueves, viernes, "
    "sábado, domingo"
)
NOTHING = (  # as `simplify` writes them
    "n a, na, nan, none, null, nil, any, all, every, normal, regular, standard, default, nothing, tbd, k a, keine,"
    " kein, keiner, alle, alles, egal, beliebig, nichts, aucun, aucune, tous, toutes, tout, rien, ninguno, ninguna,"
    " todos, todas, nada, cualquiera"
)
